// Package exec is the task runtime: it executes graphs of tasks on pinned workers.
//
//	rt, err := exec.NewLocal(exec.Options{})
//	defer rt.Close()
//	job := rt.NewJob(ctx)
//	job.Submit(&graph.Spec{Op: gemm, Operands: …})
//	…
//	err = job.Wait()
//
// A [Local] runtime owns a set of workers, each a thread pinned to a core. A [Job] is a sequential
// program: tasks are submitted in its order, from one or several goroutines, while others already
// run; [graph] infers which tasks must wait for which; a policy of [dispatch] decides which ready
// task a worker takes; a versions.Selector chooses among the versions of its op. Several jobs share
// the workers of a runtime.
//
// # How it is built
//
// Files use those above them in this list, and none below:
//
//	errors, story, stuck, record   reports: errors, stories, the watchdog's findings
//	target, place, kinds           what workers are, where they run, which tasks they can run
//	options, runtime               what a program asks for, and what it gets
//	seat, park, memory             a worker as others see it: its place, whether it
//	                               sleeps, what memory it holds
//	team                           workers that execute one task together
//	scheduler, take                all of these under one lock: tasks that come in,
//	                               and workers that want one
//	retry, endings, job            a job, and how workers end its tasks
//	submit                         its submitter: the window, waiting, the end
//	watchdog                       looks at jobs
//	attempt                        one attempt at a task, wherever it is made
//	childjob, nested               tasks in tasks
//	turn                           tasks that give way and go on later
//	worker                         the goroutine of a worker on cores
//	ready                          tasks that wait for nothing
//	guest                          a waiting caller in the place of a sleeping worker
//	port                           the runtime as a device's worker sees it, which is
//	                               that of package offload
//	local                          puts it together
//
// A task goes through these files once. job.Submit infers which tasks it waits for. When it is ready, it
// goes to the scheduler. A worker takes it from there and makes an attempt, which ends the task in its
// job. The tasks that this frees go to the scheduler when the worker asks for its next task.
//
// # Accelerators
//
// Options.Accelerators are processors with memory of their own, each with a worker that starts
// calls there and hears of their end. The runtime brings values back before anything on the host
// uses them: a task, what follows [Job.Wait] and [Job.WaitOn], a parent whose children have ended,
// and the next attempt at a task. It knows values by the data that tasks name; it does not see
// memory that two data share, or that a task uses beside its operands.
//
// # Failure
//
// A task fails when its version returns an error, panics or exceeds its time-out; graph.Failure says
// what happens then. Under graph.Fail the tasks submitted after the failed one no longer start. Tasks
// submitted before it still run and may fail as well; then the job reports the failed task with the
// smallest number. So the error of a job is that of the sequential program, on any number of workers and
// under any policy.
//
// # Tasks in tasks
//
// A version may hand on an operand before it ends (versions.Call.Finished): tasks that wait for
// that operand only start at once. It may have children ([Nested]) that work on parts of its
// operands. It may wait for them, or for anything else ([Await]), without holding up its cores:
// other workers use them meanwhile.
//
// # Back-pressure
//
// Submit blocks while Options.Window tasks of the job are in flight, so that the memory of a job
// does not grow with its number of tasks. Therefore a task must not submit to its own job; it may
// have children.
package exec
