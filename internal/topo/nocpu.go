package topo

import "errors"

// errNoCPU is returned for an empty set of CPUs.
var errNoCPU = errors.New("topo: no CPU to pin to")
