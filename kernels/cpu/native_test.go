package cpu

import "github.com/tessera-la/tessera/kernels/cpu/native"

// natives returns the implementations in assembly that this machine can run.
func natives[T Element](c Caches) map[string]*Packed[T] {
	ps := make(map[string]*Packed[T])
	for _, set := range native.Here() {
		ps[set.Name], _ = Native[T](set, c)
	}
	return ps
}
