// Package reliable keeps the promises of [transport.Transport] over a transport that does
// not: one that loses, doubles, reorders and damages messages.
//
//	Send ─► frame (up to 64 KiB of messages) ─► below ─► in order ─► handler
//	            └── again, until acknowledged ◄── acknowledgement ──┘
//
// Messages to a node are collected into frames while an earlier one is on its way. A frame
// has a checksum, a number, and what its sender has got from the other side: all frames up
// to a number, which of the 64 after that, and how many its handler is done with. A frame
// is sent again when a later one was acknowledged, or after a time that follows the
// measured round trips. At most 64 frames, and Options.Window bytes, are not handled yet:
// then Send waits.
//
// Two nodes agree on a session before they see each other join: each draws a number, and
// believes in that of the other when that one has repeated its own. A frame that is not of
// the session is dropped, so nothing old reaches a node that was restarted.
//
//	hello (a → 0)       who has no session asks for one
//	answer (b → a)      from then on a knows b
//	any frame (a → b)   from then on b knows a
//
// Who hears nothing of a node asks it for an answer, again and again. A node of which
// nothing was heard for Options.Timeout has left, whatever the transport
// below says; when it is heard of again, a new session begins and it has joined again.
//
// Reference: RFC 6298 (time before sending again), RFC 8985 (loss seen by later
// acknowledgements).
package reliable
