// Package transport connects the nodes of a cluster: messages, which are short and go to one node,
// and values, which are large and are fetched by the node that needs them.
//
//	publisher:  Publish(ref, v) ──► … ──► Drop(ref)
//	another:              Fetch(ctx, from, ref, into)
//
// Control and data are separate: a message says which node has a value, and the node that needs it
// fetches it when it is ready. Only a value's type knows its encoding, by [versions.Value]; the
// transport moves the bytes, between processes with a checksum.
//
// [Network] is a transport whose nodes are in one process: for tests, for programs that try out
// what they would do on several machines, and for more than one runtime in a process. A cluster
// knows a transport by the interface [Transport] only.
package transport
