// Package eager runs the three applications of Elshazly et al. (2021), "Accelerated execution via
// eager release of dependencies in task-based workflows", on two agents that are connected by HTTP.
// In each of them one task has many outputs, and other tasks wait for one of these. Lazy, they wait
// for the end of that task. Eager, it says when it has finished with an output (Finished), and the
// tasks that wait for it start at once, on the other node as well.
//
//   - domain: generators cut domains into subdomains of unlike sizes, and on each an equation is
//     solved. Strong: more nodes for as many generators. Weak: a generator for each node.
//   - records: one task with many workers reads records of unlike lengths, one worker each. Tasks
//     count what is in them. Where all are equal there is nothing to gain.
//   - stream: reads of DNA come from a file that is larger than what nodes may keep, and are aligned
//     with a reference.
//
// The tasks compute, and all results are compared with those of plain loops. The tasks are short, and
// there are more of them than cores here. With -unit each also waits as long as it would compute if it
// were as large as in the paper, on a core of its own: -unit is the least of that.
//
//	go run ./examples/papers eager
//	go run ./examples/papers eager --unit 2ms
//	go run ./examples/papers eager --app domain --generators 10 --subdomains 800 --side 400 --workers 48
//	go run ./examples/papers eager --app records --unit 100ms --workers 288 --parts 2
//	go run ./examples/papers eager --app stream --unit 1s --file 16000
package eager
