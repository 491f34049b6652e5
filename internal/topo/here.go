package topo

import "sync"

// Here returns this machine as it was when it was first asked for: for what does not change, since [Detect] reads a
// hundred small files.
func Here() *Machine { return here() }

var here = sync.OnceValue(Detect)
