// Package eager runs the three applications of Elshazly et al. (2021), "Accelerated execution via eager release
// of dependencies in task-based workflows", on two agents that are connected by HTTP. In each application one
// task has many outputs, and other tasks each wait for one of these. With lazy release, they wait for the end
// of that task. With eager release, the task says when it has finished with an output (Finished), and the tasks
// that wait for it start at once, also on the other node.
//
//   - domain: generators divide domains into subdomains of different sizes, and an equation
//     is solved on each. Strong scaling: more nodes for the same generators. Weak scaling:
//     one generator per node.
//   - records: one task with many workers reads records of different lengths, one worker
//     each. Tasks count words in them. With equal lengths there is nothing to gain.
//   - stream: reads of DNA come from a file that is larger than the nodes' memory limit, and
//     are aligned with a reference.
//
// The tasks compute, and all results are compared with those of plain loops. The tasks are short, and there are
// more of them than cores here. With --unit each task also waits as long as it would compute in the size of the
// paper, on a core of its own; --unit is the shortest such time.
//
//	go run ./examples/papers eager
//	go run ./examples/papers eager --unit 2ms
//	go run ./examples/papers eager --app domain --generators 10 --subdomains 800 --side 400 --workers 48
//	go run ./examples/papers eager --app records --unit 100ms --workers 288 --parts 2
//	go run ./examples/papers eager --app stream --unit 1s --file 16000
package eager
