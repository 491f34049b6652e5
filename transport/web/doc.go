// Package web is a transport over HTTP, for the nodes of a cluster on several machines.
//
//	POST /v1/greet     who is there: names and addresses, once a second
//	POST /v1/message   messages from here on (link.go): the connection is no HTTP any more
//	POST /v1/leave     a node goes
//	GET  /v1/value     a value: its bytes as they lie in memory, with their checksum
//
// Nodes find one another from the addresses of some of them: who greets a node learns of
// all that it knows, and greets them at once. Each node decides by itself who is there:
// whom it has heard of. A node that has not answered for a while has left; as it is greeted
// all the same for a hundred Timeouts, it has joined again when it answers again, and partitions
// heal. A node that has said that it goes is not greeted any more, unless it is a Peer: the next
// one at its address greets the others.
//
// Connections have mutual TLS 1.3: both sides show certificates of the cluster's
// authority, and a node is who its certificate says. Without TLS a node listens on the
// loopback address only, and only if it is told to.
//
// Reference: RFC 9110 (HTTP), RFC 8446 (TLS 1.3).
package web
