package cluster

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

// instance is a version of a datum.
type instance struct {
	of      *entry
	version uint32
}

// source is where a version is had from that is not made again.
type source struct {
	ref     transport.Ref
	holders []int
}

// plan is how to make versions again.
type plan struct {
	tasks   []*record // in the order of the program
	sources map[instance]source
}

// makers returns the tasks that make the latest versions of data again, from versions that are
// had. It asks once of each version on the way there, before it asks how that was made.
func makers(data iter.Seq[*entry], had func(instance) bool) map[*record]bool {
	seen, tasks := map[instance]bool{}, map[*record]bool{}
	var todo []instance
	for e := range data {
		todo = append(todo, instance{e, e.version})
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
		r := x.of.maker(x.version)
		if r == nil || tasks[r] {
			continue
		}
		tasks[r] = true
		for _, u := range r.uses {
			if u.mode&graph.In != 0 {
				todo = append(todo, instance{u.of, u.version})
			}
		}
	}
	return tasks
}

// planFor returns how to make the latest versions of data again that nobody has. If that
// cannot be, gone is one that is lost for good: nobody has it, and nothing says how it was
// made.
func planFor(lost []*entry) (p plan, gone *entry) {
	p.sources = map[instance]source{}
	tasks := makers(slices.Values(lost), func(x instance) bool {
		if r, holders := x.of.at(x.version); holders != nil {
			p.sources[x] = source{r, slices.Clone(holders)}
			return true
		}
		zero := x.version == 0 && x.of.set != 0
		if gone == nil && !zero && x.of.maker(x.version) == nil {
			gone = x.of
		}
		return zero
	})
	if gone != nil {
		return plan{}, gone
	}
	p.tasks = slices.SortedFunc(maps.Keys(tasks), func(a, b *record) int {
		return cmp.Or(cmp.Compare(a.job, b.job), cmp.Compare(a.id, b.id))
	})
	return p, nil
}
