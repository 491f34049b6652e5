package loop

import (
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
)

// Submit submits a loop whose chunks are tasks of their own, for any worker of a runtime on one
// machine or on several nodes. For each chunk task returns the spec: an op that all nodes know,
// with a [Range] in its parameter, on data with keys. Dependencies, placement, errors and lost
// nodes are handled as for all tasks; Wait of the job waits for them.
//
//	n, err := loop.Submit(rt, job, rows, loop.Options{}, func(c loop.Chunk) (graph.Spec, error) {
//		return graph.Spec{Op: scale, Params: &scaleParams{Range: c.Range(), By: 2}, Operands: …}, nil
//	})
//
// The plan cuts chunks for all workers of the runtime, in the order in which these would ask for
// them if all took equally long; Worker and Queue are those of the worker that would get the chunk.
// With PerSocket queues there is one for each node, and with Shares the node's part of the items is
// contiguous, so data can be put there. Auto is [FAC2], because tasks cost more than chunks.
//
// With Options.Parts each part is cut on its own, so that the items of a task are in one place, and
// Queue is the number of the part; Auto makes it one task. The runtime decides which node executes
// the task: a policy that looks at operands or owners sends it to the part's node. Of the other
// options only Priority counts.
//
//	tiles := parts.TileBlocksOf(a) // of a distributed matrix
//	data, ps := tiles.Data(1), parts.Split(rt, tiles, 0)
//	n, err := loop.Submit(rt, job, ps.Len(), loop.Options{Parts: ps.Parts()}, func(c loop.Chunk) (graph.Spec, error) {
//		s := graph.Spec{Op: sum, Operands: []graph.Operand{{Datum: &sums[c.Queue], Mode: graph.Out}}}
//		for x := range ps.Spans(c.Lo, c.Hi) {
//			s.Operands = append(s.Operands, graph.Operand{Datum: &data[x.Block], Mode: graph.In})
//		}
//		return s, nil
//	})
//
// Submit returns the number of submitted tasks. The error is an *[OptionsError], an error of task,
// or the job's. It panics with [ErrItems] and [ErrBody].
func Submit(rt exec.Runtime, job exec.Job, n int, opt Options, task func(Chunk) (graph.Spec, error)) (tasks int,
	err error) {
	switch {
	case n < 0:
		panic(ErrItems)
	case task == nil:
		panic(ErrBody)
	}
	if err := opt.validate(n); err != nil {
		return 0, err
	}
	locations := nodes(exec.Working(rt))
	var d *Dispenser
	switch p := opt.Plan; {
	case opt.Parts != nil:
		if p.automatic() { // a chunk with all items of the part
			p.Scheme, p.Grain = SS, max(1, n)
		}
		d = NewPartsDispenser(opt.Parts, locations, p)
	default:
		if p.automatic() {
			p.Scheme = FAC2
		}
		d = NewDispenser(n, locations, p)
	}
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

// nodes returns the locations of workers: the numbers of their nodes, or on one node its memories.
func nodes(workers []exec.Worker) []int {
	locations, several := make([]int, len(workers)), false
	for i, w := range workers {
		locations[i] = w.Location
		several = several || w.Host != workers[0].Host
	}
	if several {
		for i, w := range workers {
			if w.Host == "" {
				locations[i] = 0
			}
		}
	}
	return locations
}
