// Package nested runs the two applications of Lordan et al. (2023), "Hierarchical management of
// extreme-scale task-based applications", on several nodes, flat and nested: a random forest, and a
// grid search over support vector machines that are trained by cascades.
//
// Flat, all tasks are the driver's. Nested, the driver has a task for a batch of trees, or for a
// machine, and the rest are its children, on the node that gets it: the code is that of one machine.
// So the driver has the less to do the larger batches are. On a tree of nodes, children may also run
// on the node below that one. All ways have the bits of plain loops.
//
// The nodes are in this process and share the machine's cores. So more of them than cores gain
// nothing, and nested is ahead by what the driver is spared. With -unit the tasks that train also
// wait, as if they were longer, on a core of their own: then nodes count.
//
// A cascade waits for each of its rounds. Flat, the program does, as in the paper: one cascade is
// under way at a time. With a goroutine for each, all are, and nested gains little beside that.
//
//	go run ./examples/papers nested
//	go run ./examples/papers nested --unit 2ms --nodes 8
//	go run ./examples/papers nested --app forest --trees 3072 --points 60 --unit 4ms --workers 48
//	go run ./examples/papers nested --app grid --samples 7500 --values 5 --blocks 48 --rounds 5
package nested
