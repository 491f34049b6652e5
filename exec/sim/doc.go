// Package sim executes the tasks of a program in virtual time, on machines that are
// described and need not be there. Nothing is computed and nothing has memory; what comes
// out is how long it would take, and why.
//
//	rt, err := sim.New(sim.Options{Machine: m})
//	e, err := la.NewEngine(la.Options{Runtime: rt})
//	…                                // the program itself, on matrices without elements
//	p := rt.Prediction()             // time, rates, idle time, bytes, the critical path
//
// A [Runtime] is an exec.Runtime: the program is the one that computes, so nothing of the
// algorithms is modelled. Dependencies are inferred by package graph, and tasks are handed
// out by the policies of package dispatch and, between nodes, by package
// exec/internal/core, which are those of the live runtimes. What is modelled is time:
//
//	a task          by its op, version and shape, from points that were measured (speed.go),
//	                slower the more of the cores around are busy, and if what it reads is
//	                not in their cache (tank.go)
//	a value         from node to node: latency, bandwidth out of the one and into the other
//	                (node.go)
//	bookkeeping     seconds for each task and message, of those who submit, of the driver
//	                and of nodes ([Costs])
//	noise           a spread of the times of tasks, by a seed ([Noise])
//
// A node may have accelerators with memory of their own (device.go): what a task reads comes over a link,
// and stays there.
//
// A task may have children (Options.Bodies): what it does is a coroutine, and waits in virtual time.
// On a node that has others below it (Nodes.Below) it drives these, with the same core.
//
// A run that was recorded is a program, too: [Program.Replay] executes its tasks once more, each
// as long as it took, under another policy or with more workers.
//
// Nodes may be lost, and come back (Machine.Failures): the same core says what is made again.
//
// The order of everything that happens follows from the program, the machine and the seed.
//
// # Files, from the bottom up
//
// machine (what there is), speed (times of tasks), cache, calendar (what happens next),
// recorder, tank (cores that share what they have), memory (that of a device), crew (workers of a node
// and their tasks), device (those on accelerators), world (what runtimes have in common), prediction (what came out), job (the program's side),
// runtime (one node), node, loss (of nodes) and cluster (several), body (tasks with children), tape (what a program submits), replay (its tasks
// once more).
package sim
