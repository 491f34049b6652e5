// Package cluster executes the tasks of a program on several nodes.
//
//	d, err := cluster.NewDriver(cluster.Options{Transport: t, Runtime: local, …})
//	err = d.Await(ctx, 3)                          // wait for three agents
//	e, err := la.NewEngine(la.Options{Runtime: d}) // what la computes runs there
//
// and on each other node, for example in labench agent:
//
//	err := cluster.Serve(ctx, cluster.Options{Transport: t, Runtime: local, …})
//
// The node with the program is the driver. It infers which tasks each task waits for. With a policy of
// package dispatch it decides which node executes the task. It keeps the directory, which says which nodes
// have each version of a datum. The other nodes are agents. Driver and agents execute tasks in the same way
// (execution.go): each has a runtime, usually an exec.Local, which chooses versions and cores itself.
//
// # The way of a task
//
//	driver:  Submit ─► graph ─► ready ─► policy, by node ─► run, in a batch ┐
//	agent:                            it fetches operands from their holders ◄┘
//	         ─► runtime of the node ─► its results are published ─► ended, in a batch ┐
//	driver:  the directory notes the new versions ─► graph ─► tasks that are ready now ◄┘
//
// A node gets several tasks for each worker, before it can begin them. So the operands of some tasks are on
// their way while the node computes other tasks.
//
// # Data
//
// At first the data are in the memory of the program, on the driver. Nodes fetch them from there, and fetch
// the results of tasks from one another. A task that updates a datum makes the next version of the datum on
// its node; nodes then drop copies of the version before. [exec.Job.Wait] brings the latest version of each
// datum back into the memory of the program, and WaitOn that of one datum. Until then that memory is
// unchanged, and the driver computes in copies. Wait fetches all data to the driver before it overwrites
// anything: if a node is lost meanwhile, its data must be computed again from the old contents. Kept data
// ([Driver.Keep]) stay on their nodes.
//
// Some tasks run only on the driver: those whose op is bound to its process, those with values that are no
// [versions.Value], and those with data that are renamed or reduced. The others run where the policy says.
// The bits of the results do not depend on that if all nodes choose the same versions.
//
// # Unlike nodes
//
// When a node answers the call of the driver, it lists its kinds of workers, and the ops for which they have
// no version (offer.go). A task goes only to nodes that have a version for workers that meet the constraints
// of the task (core/match.go). If no available node can execute a task, Submit refuses it with a
// *[NoNodeError]. If the last node that can execute a submitted task leaves, the task fails with that error.
//
// # A tree of nodes
//
// Tasks may have children (exec.Nested). Children of a task on an agent run on that agent and on the agents
// that name it as their parent ([Options].Parent): it is the driver of these (domain.go). The children are a
// separate job with its own data; the first and last versions of these data are in the memory of the
// operands of the parent. The driver above sees only the parent task.
//
// # Tasks of several ranks
//
// [SubmitGroup] submits tasks that begin together, each on a node of its own (group.go, core/groups.go):
//
//	driver:  all ranks are ready ─► a node for each ─► run ┐
//	agents:                     operands come ─► at the gate ─► arrived ┐
//	driver:                                           all have arrived ─► order: begin ┐
//	agents:                                                          the node's runtime ◄┘
//
// If a rank cannot go on before they begin, the driver calls the others back, and tries again. So no rank waits for
// another one that does not come.
//
// # Loss of a node
//
// For each version the driver keeps a record of the task that made it (core/lineage.go). When a node is lost,
// its tasks go to other nodes. When a task is about to read lost data, the driver puts it aside and begins no
// other task. When the tasks in flight have ended, a separate job computes the lost data again (recovery.go).
// It writes stand-ins (core/reconstruction.go), which then replace the lost data.
//
// # Files, from the bottom up
//
// Package exec/internal/core makes the decisions. Here are:
//
//   - errors; message and packed: the wire
//   - batch: tasks that go to a node together; known: what messages can name; options; outbox: messages to a node
//   - meter: the times of a node
//   - values: the data of a node; fetch: data from other nodes; store: operands and results of tasks
//   - member: a rank of a group; executor: the tasks of a node; execution: the steps of one; executor_run: tasks that come, and their operands
//   - offer: what a node says that it can execute; usage: what nodes have done; record: traces
//   - fleet: the nodes of a driver
//   - catalog: the data of a job; capacity: caps on memory; story: what is told of tasks
//   - placement: which node has which task of a job; completion: what becomes of these tasks
//   - routes: values by way of relays
//   - job: Submit and Wait; group: tasks of several ranks; recovery: lost data; replication: replicas
//   - status: what nodes are doing; watchdog
//   - driver: its jobs; driver_nodes: nodes that come and go; driver_messages: what they say; driver_runtime: the
//     exec.Runtime; keep: data that stay on nodes
//   - domain: the driver that an agent is to the nodes below it
//   - drivers: what an agent knows of its drivers; agent
//   - watch: the state of all nodes
package cluster
