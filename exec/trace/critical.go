package trace

import (
	"slices"
	"time"
)

// CriticalPath is the longest path through the graph of tasks: no number of workers can be faster.
// A task on it counts as long as it took, or until the next one on the path began, if its operand
// was handed on before its end.
type CriticalPath struct {
	Tasks  []Event // in the order of the path
	Length time.Duration
	// Work is the time of all tasks, including the shares of members of gangs. Work/Length bounds
	// the speed-up over one worker.
	Work time.Duration
}

// Bound returns the bound on the speed-up over one worker, 0 if there are no
// tasks.
func (p *CriticalPath) Bound() float64 {
	if p.Length == 0 {
		return 0
	}
	return float64(p.Work) / float64(p.Length)
}

// CriticalPath returns the critical path of what was recorded. Without edges
// that is the longest task.
//
// The length of the path that ends with task i is
//
//	length(i) = took(i) + max over its edges k → i of max(length(k) − overlap(k, i), 0)
//
// where overlap is how long k went on after i had started: then i did not need all of k.
// It takes O(tasks · log tasks + edges).
func (r *Recording) CriticalPath() CriticalPath {
	events := r.byTask()
	// Only the last attempt at a task is part of the path.
	index := make(map[taskKey]int, len(events))
	for i := range events {
		index[events[i].key()] = i
	}
	into := make([][]int32, len(events))
	for _, e := range r.Edges {
		from, ok := index[taskKey{e.Job, e.From}]
		to, ok2 := index[taskKey{e.Job, e.To}]
		if ok && ok2 && e.From < e.To {
			into[to] = append(into[to], int32(from))
		}
	}
	// Edges lead to later tasks, so the order of events is a topological one.
	var path CriticalPath
	length := make([]time.Duration, len(events))
	before := make([]int32, len(events))
	end := -1
	for i := range r.Shares {
		path.Work += r.Shares[i].End - r.Shares[i].Start
	}
	for i := range events {
		took := events[i].End - events[i].Start
		path.Work += took
		before[i] = -1
		longest := time.Duration(0)
		for _, k := range into[i] {
			up := max(length[k]-max(events[k].End-events[i].Start, 0), 0)
			if before[i] < 0 || up > longest {
				before[i], longest = k, up
			}
		}
		length[i] = took + longest
		if end < 0 || length[i] > length[end] {
			end = i
		}
	}
	if end < 0 {
		return path
	}
	path.Length = length[end]
	for i := int32(end); i >= 0; i = before[i] {
		path.Tasks = append(path.Tasks, events[i])
	}
	slices.Reverse(path.Tasks)
	return path
}
