// Package listen wraps the listener of a server that anyone can reach. Accept retries temporary errors after a
// pause. Connections that are not yet identified (strangers) are limited in number: one more closes the oldest.
// The server calls [Conn.Known] when it has identified the client:
//
//	l = listen.New(l, listen.Options{})
//	c, err := l.Accept()
//	// … the handshake …
//	c.(*listen.Conn).Known(nil)
//
// The servers of transport/web, exec/monitor and labench's jobs use it. The default limit depends on how many
// descriptors the process may open (see [Strangers]).
package listen
