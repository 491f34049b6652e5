// Package graph turns a sequence of tasks into a graph of dependencies, and keeps the state of
// every task.
//
// A [Task] is data: an operation, the data it reads and writes with an access [Mode] each, a
// parameter and a priority. Tasks are added in the order of a sequential program. A [Datum] has
// versions: every task that writes it makes the next one. From the modes the graph infers that a
// task waits
//
//   - for the version it reads to be produced (read after write),
//   - for the version it overwrites to be produced (write after write) and for all readers of that
//     version to end (write after read),
//
// so that any order of execution that the graph allows gives the result of the sequential program,
// bit for bit.
//
//	      ┌─────────┐ all versions there ┌───────┐ a worker takes it ┌─────────┐
//	Add ─►│ Waiting ├───────────────────►│ Ready ├──────────────────►│ Running │
//	      └─────────┘                    └─┬───▲─┘                   └─┬─┬─┬───┘
//	                                       │   └──────── retry ────────┘ │ │
//	          cancelled, or no version fits│                       error │ │ end
//	                        ┌───────────┐  │                  ┌────────┐ │ │ ┌──────┐
//	                        │ Cancelled │◄─┴─────────────────►│ Failed │◄┘ └►│ Done │
//	                        └───────────┘                     └────────┘     └──────┘
//
// A task that fails or is cancelled taints the versions it should have produced; a task that reads
// those is cancelled in turn. A task that only overwrites a tainted version is not.
//
// Three more ways of access are opt-in: tasks that [Commute] update a datum in any order, one at a
// time; those that [Reduce] add to it at once, on copies; and a datum that is renamed
// ([Datum.SetRenaming]) gets a new value from each task that overwrites it, which so need not wait
// for readers of the old one.
//
// A running task may finish with single operands before its end ([Graph.Give]): tasks that wait for
// that version only are released at once. What was given stays good if the task fails afterwards.
//
// The package is pure: no goroutine, clock or I/O. [Graph.Add] must be called by one goroutine at a
// time; [Graph.End] may run at any time, from any number of goroutines, one call per task.
package graph
