// Package web is a transport over HTTP, for the nodes of a cluster on several machines.
//
//	POST /v1/greet     the nodes that are there: names and addresses, once a second
//	POST /v1/message   messages from here on (link.go): the connection leaves HTTP
//	POST /v1/leave     a node goes
//	GET  /v1/value     a value: its bytes as they lie in memory, with their checksum
//
// Nodes find one another from the addresses of some of them: a node that greets another one learns
// of all nodes that it knows, and greets them at once. Each node decides by itself which nodes are
// there: those that answer it. A node that has not answered for a while has left. It is still
// greeted for a hundred Timeouts and joins again when it answers, so partitions heal. A node that
// has said that it leaves is not greeted any more, unless it is a Peer: the next node at its
// address greets the others.
//
// Connections have mutual TLS 1.3: both sides show certificates of the cluster's authority, and a
// node has the name in its certificate. Without TLS a node listens on the loopback address only,
// and only if it is told to.
//
// Reference: RFC 9110 (HTTP), RFC 8446 (TLS 1.3).
package web
