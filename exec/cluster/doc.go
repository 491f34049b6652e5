// Package cluster executes the tasks of a program on several nodes.
//
//	d, err := cluster.NewDriver(cluster.Options{Transport: t, Runtime: local, …})
//	err = d.Await(ctx, 3)                          // three agents are there
//	e, err := la.NewEngine(la.Options{Runtime: d}) // what la computes runs there
//
// and on each other node, for example in labench agent:
//
//	err := cluster.Serve(ctx, cluster.Options{Transport: t, Runtime: local, …})
//
// The node with the program is the driver. It infers what each task waits for, decides
// with a policy of package dispatch which node is to execute it, and keeps the directory:
// which node has which version of which datum. The others are agents. Both have the same
// part that executes tasks (executor.go): on a runtime of their own, an exec.Local as a
// rule, which chooses versions and cores by itself.
//
// # The way of a task
//
//	driver:  Submit ─► graph ─► ready ─► policy, by node ─► Run, in a batch ┐
//	agent:                            operands are fetched from their holders ◄┘
//	         ─► runtime of the node ─► its results are published ─► Ended, in a batch ┐
//	driver:  the directory notes who has what ─► graph ─► those that are ready now ◄──┘
//
// A task goes to a node ahead of need: as many as the node has units, and as many more.
// So its operands are on their way while others compute.
//
// # Data
//
// What a program's data hold when they are first used is on the driver, in the program's
// memory. From there nodes fetch it, and from each other what tasks have made. A task
// that updates a datum makes its next version, on its node; copies of the version before
// are dropped. [exec.Job.Wait] brings the latest version of each datum back into the
// program's memory, and WaitOn that of one; until then the program's memory holds what it
// held, and the driver computes in copies. Wait brings all to the driver before it writes
// over anything: a node may be lost until then, and what it had be made again. Data that are kept ([Driver.Keep]) stay where
// they are.
//
// Tasks that other nodes cannot execute run on the driver: those of ops that are bound to
// their process, of values that are no [versions.Value], and of data that are renamed
// or reduced. The others run wherever the policy says, with the same bits where each
// node chooses the same versions.
//
// # Unlike nodes
//
// When a node greets, it says of what kinds its workers are, and for which ops it has no
// version that they can run (offer.go). A task goes only to nodes that have one, on workers
// that meet the task's own constraints (match.go). What no node that is there can execute is
// refused by Submit, with a *[NoNodeError]. What was submitted before the last node left that
// could, fails with it.
//
// # A tree of nodes
//
// Tasks may have children (exec.Nested). Those of a task on an agent run there and, if other
// agents name it as their parent ([Options].Parent), on these, too: the agent is their driver
// (domain.go). What children use is data of a job of its own; first and last versions are in
// the memory of the parent's operands. The driver above hears of the parent only.
//
// # Loss of a node
//
// For each version the driver keeps how it was made (core/lineage.go). When a node is lost, its
// tasks go to others; a task that is to read what nobody has any more is put aside, no
// other one begins, and when those that run have ended, a job of its own makes again what
// is lost (mend.go), on data of other names (core/remake.go), which then take the place of the lost ones.
//
// # Files, from the bottom up
//
// What decides is in package exec/internal/core. Here are errors; message and packed (the wire);
// batch (tasks that go together); options; outbox; meter (times of a node); values (what it has);
// fetch (what comes from others); store (what tasks use and make, and the program's memory);
// executor; offer (what a node says that it can execute); usage (what nodes have done); record;
// fleet; catalog (the data of a job); room (where nodes have caps on their memory); story (what is
// told of tasks); placement (which get tasks); landing (and what becomes of these); relay (values by
// way of other nodes); job; mend; guard (takes second copies); standing (what nodes say that they are
// at); watchdog; driver; keep; domain (the driver that an agent is to nodes below it); agent; watch
// (what is seen of all).
package cluster
