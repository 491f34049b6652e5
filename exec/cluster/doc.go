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
// The node with the program is the driver. It infers what each task waits for, decides with a policy of
// package dispatch which node executes it, and keeps the directory: which node has which version of
// which datum. The others are agents. Driver and agents execute tasks in the same way (executor.go): on
// a runtime of their own, as a rule an exec.Local, which chooses versions and cores itself.
//
// # The way of a task
//
//	driver:  Submit ─► graph ─► ready ─► policy, by node ─► run, in a batch ┐
//	agent:                            it fetches operands from their holders ◄┘
//	         ─► runtime of the node ─► its results are published ─► ended, in a batch ┐
//	driver:  the directory notes the new versions ─► graph ─► tasks that are ready now ◄┘
//
// A node gets tasks ahead of need: several for each worker. So their operands are on their way while
// others compute.
//
// # Data
//
// At first a program's data are in the program's memory, on the driver. Nodes fetch them from there,
// and fetch what tasks have made from one another. A task that updates a datum makes its next version,
// on its node; copies of the version before are dropped. [exec.Job.Wait] brings the latest version of
// each datum back into the program's memory, and WaitOn that of one. Until then the program's memory
// holds what it held, and the driver computes in copies. Wait fetches all data to the driver before it
// overwrites anything, because a node may be lost until then and its data may have to be computed
// again. Data that are kept ([Driver.Keep]) stay where they are.
//
// Tasks that no other node can execute run on the driver: those of ops that are bound to their
// process, of values that are no [versions.Value], and of data that are renamed or reduced. The others
// run where the policy says, with the same bits if each node chooses the same versions.
//
// # Unlike nodes
//
// When a node greets, it says what kinds of workers it has, and for which ops they have no version
// (offer.go). A task goes only to nodes that have one, on workers that meet the task's own constraints
// (core/match.go). Submit refuses a task that no present node can execute, with a *[NoNodeError]. If
// the last node leaves that could execute a submitted task, the task fails with that error.
//
// # A tree of nodes
//
// Tasks may have children (exec.Nested). Children of a task on an agent run there and, if other
// agents name it as their parent ([Options].Parent), on these, too: the agent is their driver
// (domain.go). The data of children belong to a job of its own; their first and last versions are in
// the memory of the parent's operands. The driver above hears of the parent only.
//
// # Loss of a node
//
// For each version the driver keeps how it was made (core/lineage.go). When a node is lost, its
// tasks go to others. A task that reads lost data is put aside, and no other task begins. When those
// in flight have ended, a job of its own computes the lost data again (recovery.go): it writes
// stand-ins (core/reconstruction.go), which then replace the lost data.
//
// # Files, from the bottom up
//
// Package exec/internal/core makes the decisions. Here are:
//
//   - errors; message and packed: the wire
//   - batch: tasks that go to a node together; options; outbox: messages to a node
//   - meter: the times of a node
//   - values: the data of a node; fetch: data from other nodes; store: operands and results of tasks
//   - executor: the tasks of a node
//   - offer: what a node says that it can execute; usage: what nodes have done; record: traces
//   - fleet: the nodes of a driver
//   - catalog: the data of a job; capacity: caps on memory; story: what is told of tasks
//   - placement: which node has which task of a job; completion: what becomes of these tasks
//   - routes: values by way of relays
//   - job: Submit and Wait; recovery: lost data; replication: replicas
//   - status: what nodes are doing; watchdog
//   - driver; keep: data that stay on nodes
//   - domain: the driver that an agent is to the nodes below it
//   - drivers: what an agent knows of its drivers; agent
//   - watch: the state of all nodes
package cluster
