//go:build !cgo || !mkl || openblas

package cpu

// WhyNoThreads returns the reason why [ShareBLAS] is not to be had, or "".
func WhyNoThreads() string {
	if info, ok := BLASLibrary(); ok {
		return info.Name + " executes calls of several threads one after the other, and has one number of threads for all"
	}
	return WhyNoBLAS("mkl")
}

// ShareBLAS calls f, within which a call of the C library has n threads: in builds
// for which [WhyNoThreads] says nothing. It panics in this one.
func ShareBLAS(int, func(parts int, part func(i int)), func()) { panic(ErrNoThreads) }
