// Package nested runs the two applications of Lordan et al. (2023), "Hierarchical management of extreme-scale
// task-based applications", on several nodes, flat and nested: a random forest, and a grid search over support
// vector machines that are trained by cascades.
//
// Flat, the driver submits all tasks. Nested, the driver submits a task for each batch of trees, or each
// machine. The other tasks are its children, on the node that executes it, and the code is that for one
// machine. So the larger the batches are, the less work the driver has. On a tree of nodes, children may also run
// on the nodes below. All ways compute the same bits as plain loops.
//
// The nodes are in this process and share the machine's cores. So having more nodes than cores gains nothing,
// and nested is faster by the driver's saved work only. With --unit the tasks that train also wait, as if they
// took longer on a core of their own. Then the number of nodes matters.
//
// A cascade waits for each of its rounds. Flat, the program waits, as in the paper, and only one cascade is in
// progress at a time. With a goroutine for each cascade all are in progress, and nested gains little more.
//
//	go run ./examples/papers nested
//	go run ./examples/papers nested --unit 2ms --nodes 8
//	go run ./examples/papers nested --app forest --trees 3072 --points 60 --unit 4ms --workers 48
//	go run ./examples/papers nested --app grid --samples 7500 --values 5 --blocks 48 --rounds 5
package nested
