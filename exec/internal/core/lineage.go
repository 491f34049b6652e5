package core

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/transport"
)

// A lost node may have held the only copy of some versions. A task made each of them, and other tasks
// made that task's operands, back to versions that are still on some node, to the program's memory,
// or to tasks that read nothing. Only these tasks are executed again. In factorizations they are few:
// an update in place adds the chain of versions of one datum, and the other operands of tasks are
// final as a rule.
//
// This file is pure.

// Instance is a version of a datum.
type Instance struct {
	Of      *Entry
	Version uint32
}

// source is where a version is available that need not be computed again.
type source struct {
	Ref     transport.Ref
	Holders []int
}

// Plan says how to compute lost versions again.
type Plan struct {
	Tasks   []*Record // in the order of the program
	Sources map[Instance]source
}

// findMakers returns the tasks that make the latest versions of data again from available ones. It
// calls available once for each version on the way, before it looks up how the version was made.
func findMakers(data iter.Seq[*Entry], available func(Instance) bool) map[*Record]bool {
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
		if available(x) {
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

// PlanFor returns the plan that computes the latest versions of lost data again. If there is none,
// unrecoverable is a datum that is lost for good: no node has it and no record says how it was
// made.
func PlanFor(lost []*Entry) (p Plan, unrecoverable *Entry) {
	p.Sources = map[Instance]source{}
	tasks := findMakers(slices.Values(lost), func(x Instance) bool {
		if r, holders := x.Of.Locate(x.Version); holders != nil {
			p.Sources[x] = source{r, slices.Clone(holders)}
			return true
		}
		zero := x.Version == 0 && x.Of.Set != 0
		if unrecoverable == nil && !zero && x.Of.Maker(x.Version) == nil {
			unrecoverable = x.Of
		}
		return zero
	})
	if unrecoverable != nil {
		return Plan{}, unrecoverable
	}
	p.Tasks = slices.SortedFunc(maps.Keys(tasks), func(a, b *Record) int {
		return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.ID, b.ID))
	})
	return p, nil
}
