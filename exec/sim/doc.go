// Package sim executes the tasks of a program in virtual time, on machines that are only described.
// Nothing is computed and values have no memory. The result is how long the program would take, and
// why.
//
//	rt, err := sim.New(sim.Options{Machine: m})
//	e, err := la.NewEngine(la.Options{Runtime: rt})
//	…                                // the program itself, on matrices without elements
//	p := rt.Prediction()             // time, rates, idle time, bytes, the critical path
//
// A [Runtime] is an exec.Runtime and executes the program itself, so no algorithm is modelled.
// Package graph infers dependencies, policies of package dispatch hand out tasks and package
// exec/internal/core chooses nodes, as in the live runtimes. Only time is modelled:
//
//	a task          by its op, version and shape, from measured points (speed.go); slower the
//	                more of the cores around are busy (socket.go), and if its operands are not
//	                in their cache
//	a value         from node to node: latency, bandwidth out of the one and into the other
//	                (node.go)
//	overhead        seconds for each task and message, of submitters, the driver and nodes
//	                ([Costs])
//	noise           a spread of the times of tasks, by a seed ([Noise])
//
// A node may have accelerators with memory of their own (device.go): operands are copied over a
// link, and stay there.
//
// A task may have children (Options.Bodies): its body is a coroutine that waits in virtual time. A
// node that has other nodes below it (Nodes.Below) is their driver, with the same core.
//
// A recorded run is a program, too: [Program.Replay] executes its tasks once more, each as long as
// it took, under another policy or with more workers.
//
// Nodes may be lost and come back (Machine.Failures): the same core decides what is computed again.
//
// The order of all events follows from the program, the machine and the seed.
//
// # Files, from the bottom up
//
//	machine, options     the description of a machine; what a program asks for
//	speed, cache         times of tasks
//	calendar             events to come
//	structure            the types of one node
//	world, recorder      the common part of runtimes: the clock; events that have happened
//	socket               cores that share their speed
//	tally, prediction    what workers did, and the result
//	memory, device       an accelerator's values, and their copies
//	children, job        a task that waits for children; the jobs of programs and of such tasks
//	crew                 the workers of a node and their tasks
//	offload, body        tasks on an accelerator; tasks with children go on
//	crews                makes workers
//	runtime              a program on one node
//	structure_cluster    the types of several nodes
//	post, gate           messages between the driver and nodes; tasks whose values are there
//	fetch, node          values from other nodes; a node
//	driver, loss         the driver of nodes; nodes that are lost
//	cluster              a program on several nodes
//	tape, replay         recorded programs, and their tasks once more
package sim
