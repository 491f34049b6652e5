package web

import "github.com/tessera-la/tessera/transport"

// Listens returns the address on which a node listens.
func Listens(t transport.Transport) string { return t.(*node).listen.Addr().String() }
