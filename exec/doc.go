// Package exec is the task runtime: it executes graphs of tasks on pinned
// workers.
//
//	rt, err := exec.NewLocal(exec.Options{})
//	defer rt.Close()
//	job := rt.NewJob(ctx)
//	job.Submit(&graph.Spec{Op: gemm, Operands: …})
//	…
//	err = job.Wait()
//
// A [Local] runtime owns a set of workers, each a thread pinned to a core. A
// [Job] is a sequential program: tasks are submitted in its order, from one
// or several goroutines, while others already run; [graph] infers who must
// wait for whom; a policy of [dispatch] decides which ready task a worker takes;
// the versions of its op are chosen among by a versions.Selector. Several
// jobs share the workers of a runtime.
//
// # Short tasks
//
// Tasks of less than 0.3 µs cost more on several cores than on one. While such
// tasks come one after the other, one worker executes all of them and Submit leaves
// their dependencies to that worker, which looks some hundred tasks ahead: of those
// beyond, a policy knows nothing yet. The other workers come back within a
// millisecond of a task that takes long. This happens only without accelerators,
// recorder, stories and watchdog, and not under dispatch.EarliestFinish.
//
// # Accelerators
//
// Options.Accelerators are processors with memory of their own, each with a worker
// that starts calls there and hears of their end. The runtime brings values back
// before anything on the host uses them: a task, what follows [Job.Wait] and
// [Job.WaitOn], a parent whose children have ended, and the next attempt at a task.
// It knows values by the data that tasks name; memory that two data share, or that
// a task uses beside its operands, is not looked after.
//
// # Failure
//
// A task fails when its version returns an error, panics or outlasts its
// time-out; graph.Failure says what happens then. Under graph.Fail no task
// submitted after the failed one is started any more, but those submitted
// before it still run: they may fail as well, and then the smallest number is
// the one reported. So the error of a job is that of the sequential program,
// on any number of workers and under any policy.
//
// # Tasks in tasks
//
// A version may hand on an operand before it ends (versions.Call.Finished): those
// who wait for that operand only start at once. It may have children ([Nested])
// that work on parts of its operands, and wait for them, or for anything else
// ([Await]), without holding up its cores: others run on them meanwhile.
//
// # Back-pressure
//
// Submit blocks while Options.Window tasks of the job are in flight, so that
// the memory of a job does not grow with its number of tasks. Therefore a
// task must not submit to its own job; it may have children.
package exec
