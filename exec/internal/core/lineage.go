package core

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/transport"
)

// A node that is lost takes versions with it that nobody else has. Each of them was made by
// a task, whose operands were made by tasks: down to versions that somebody has, to the
// program's memory, and to tasks that read nothing. What is executed again is just that
// closure. Updates in place make chains along one datum, not a return of all to an earlier
// time: what tasks of factorizations read of others is final as a rule.
//
// All here is pure.

// Instance is a version of a datum.
type Instance struct {
	Of      *Entry
	Version uint32
}

// source is where a version is had from that is not made again.
type source struct {
	Ref     transport.Ref
	Holders []int
}

// Plan is how to make versions again.
type Plan struct {
	Tasks   []*Record // in the order of the program
	Sources map[Instance]source
}

// makers returns the tasks that make the latest versions of data again, from versions that are
// had. It asks once of each version on the way there, before it asks how that was made.
func makers(data iter.Seq[*Entry], had func(Instance) bool) map[*Record]bool {
	seen, tasks := map[Instance]bool{}, map[*Record]bool{}
	var todo []Instance
	for e := range data {
		todo = append(todo, Instance{e, e.Version})
	}
	for len(todo) > 0 {
		x := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[x] {
			continue
		}
		seen[x] = true
		if had(x) {
			continue
		}
		r := x.Of.Maker(x.Version)
		if r == nil || tasks[r] {
			continue
		}
		tasks[r] = true
		for _, u := range r.Uses {
			if u.Mode&graph.In != 0 {
				todo = append(todo, Instance{u.Of, u.Version})
			}
		}
	}
	return tasks
}

// PlanFor returns how to make the latest versions of data again that nobody has. If that
// cannot be, gone is one that is lost for good: nobody has it, and nothing says how it was
// made.
func PlanFor(lost []*Entry) (p Plan, gone *Entry) {
	p.Sources = map[Instance]source{}
	tasks := makers(slices.Values(lost), func(x Instance) bool {
		if r, holders := x.Of.At(x.Version); holders != nil {
			p.Sources[x] = source{r, slices.Clone(holders)}
			return true
		}
		zero := x.Version == 0 && x.Of.Set != 0
		if gone == nil && !zero && x.Of.Maker(x.Version) == nil {
			gone = x.Of
		}
		return zero
	})
	if gone != nil {
		return Plan{}, gone
	}
	p.Tasks = slices.SortedFunc(maps.Keys(tasks), func(a, b *Record) int {
		return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.Id, b.Id))
	})
	return p, nil
}
