package loop

import (
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
)

// Submit submits a loop whose chunks are tasks of their own, for any worker of a runtime on
// one machine or on several nodes: task says for each chunk what is to be done, as an op that
// all nodes know, with a [Range] in its parameter, on data with keys. What the chunks wait
// for, where they run, and what becomes of errors and lost nodes follows as for all tasks;
// Wait of the job waits for them.
//
//	n, err := loop.Submit(rt, job, rows, loop.Options{}, func(c loop.Chunk) (graph.Spec, error) {
//		return graph.Spec{Op: scale, Params: &scaleParams{Range: c.Range(), By: 2}, Operands: …}, nil
//	})
//
// Chunks are cut by the plan for all workers of the runtime, in the order in which these
// would ask for them if all took equally long; Worker and Queue are those of the worker
// that would get the chunk. With PerSocket queues there is one for each node, and with Shares the
// node's part of the items is contiguous, so data can be put there. Auto is [FAC2], for tasks
// cost more than chunks. Of the other options only Priority counts.
//
// Submit returns the number of tasks that it has submitted. The error is an *[OptionsError],
// what task returns, or the job's. It panics with [ErrItems] and [ErrBody].
func Submit(rt exec.Runtime, job exec.Job, n int, opt Options, task func(Chunk) (graph.Spec, error)) (tasks int, err error) {
	switch {
	case n < 0:
		panic(ErrItems)
	case task == nil:
		panic(ErrBody)
	}
	if opt.Parts != nil {
		return 0, &OptionsError{Problems: []string{"Parts is set: the tasks of a partition are submitted by its program"}}
	}
	if err := opt.validate(n); err != nil {
		return 0, err
	}
	locations := nodes(rt.Workers())
	p := opt.Plan
	if p.automatic() {
		p.Scheme = FAC2
	}
	d := NewDispenser(n, locations, p)
	for open := len(locations); open > 0; {
		open = 0
		for w := range locations {
			c, ok := d.Next(w)
			if !ok {
				continue
			}
			open++
			s, err := task(c)
			if err != nil {
				return tasks, err
			}
			s.Priority += opt.Priority
			if _, err := job.Submit(&s); err != nil {
				return tasks, err
			}
			tasks++
		}
	}
	return tasks, nil
}

// nodes returns the locations of workers: their nodes, if there are several, and otherwise the
// memories of the one node.
func nodes(workers []exec.Worker) []int {
	locations, known := make([]int, len(workers)), map[string]int{}
	for i, w := range workers {
		if _, ok := known[w.Host]; !ok {
			known[w.Host] = len(known)
		}
		locations[i] = known[w.Host]
	}
	if len(known) == 1 {
		for i := range workers {
			locations[i] = workers[i].Location
		}
	}
	return locations
}
