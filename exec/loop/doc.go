// Package loop executes parallel loops that adapt to irregular work: free workers take the items in
// chunks.
//
//	err := loop.For(ctx, rt, n, loop.Options{Site: &site}, func(c loop.Chunk) error {
//		for i := c.Lo; i < c.Hi; i++ {
//			…
//		}
//		return nil
//	})
//
// The runtime is an exec.Local, or that of an la.Engine (Engine.Runtime), whose workers the loop
// then shares.
//
// [For] is a loop in Go on the workers of one process, [Reduce] one with a result, [Within] one
// inside a task. [Submit] makes each chunk a task of an op that all nodes of a cluster know.
//
// # How items are handed out
//
// A [Scheme] cuts items into chunks. Eleven are built in, and a program may have its own
// ([Partitioner]):
//
//	Static   one chunk for each worker
//	SS       self-scheduling
//	MFSC     modified fixed-size chunking
//	GSS      guided self-scheduling
//	TSS      trapezoid self-scheduling
//	FAC2     factoring by halves
//	TFSS     trapezoid factoring self-scheduling
//	FISS     fixed-increase self-scheduling
//	VISS     variable-increase self-scheduling
//	PLS      performance loop-based self-scheduling
//	PSS      probabilistic self-scheduling
//
// There is one queue for all workers, one for each NUMA node or one for each worker ([Layout]). As
// a rule the scheme cuts all items, and the chunks are dealt to the queues in turn. With
// Plan.Shares each queue has a contiguous share of the items, and the scheme cuts each share. In
// either case it cuts for the number of all workers. A worker whose queue is empty takes the next
// chunk of another one ([Victim]). All of this together is a [Plan].
//
//	items ─► scheme ─► chunks ─► queues ─┬─► a worker's own ────────────► chunk
//	                                     └─► a victim's, when that is empty ─┘
//
// Under each built-in scheme the chunks of a queue follow from the numbers of items and workers and
// the grain alone. So a queue is a counter: the worker that adds one to it has that chunk.
//
// [Auto] finds the plan. In the first calls at a [Site] it measures the costs of the items, then
// predicts the time of all plans ([Predict]), and tries those that are about the best;
// [Site.Explain] shows what it has learned. Where the items are in parts (Options.Parts), these are
// the queues, and Auto finds the scheme and the grain.
//
// # How a loop is executed
//
// A loop is tasks, one for each worker: a runner takes chunks for the worker that executes it until
// there are none. It gives its worker back after a chunk if other tasks are ready, and goes on when
// the policy of the runtime says so: a loop of higher priority keeps its workers, one of lower
// priority lets others through. Where a worker sleeps the goroutine that calls For takes its place
// (exec.RunHere), so a short loop wakes no thread. Where loops are known to be long it does not:
// its thread is not pinned.
//
// # Files, from the bottom up
//
// Pure, without goroutine, clock or socket:
//
//	shape                          what chunks depend on
//	static, ss, mfsc, gss, tss, fac2, tfss, fiss, viss, pls, pss
//	                               the schemes
//	errors, scheme, layout, plan
//	                               their names, and what a program asks for
//	chunk, sequence, queue, dispenser, parts
//	                               hands out the items
//	stats, predict                 what came of it, live or in virtual time
//	profile, candidates, lesson, site, explain
//	                               Auto
//
// and live:
//
//	options, run                   a loop under way
//	for, reduce, within            loops in Go
//	submit                         chunks as tasks
package loop
