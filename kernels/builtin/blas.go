package builtin

import "github.com/tessera-la/tessera/kernels/cpu"

// BLASInfo describes the C library that this build is linked with.
type BLASInfo = cpu.BLASInfo

// BLASLibrary returns what is known about the C library; ok is false if this
// build has none.
func BLASLibrary() (info BLASInfo, ok bool) { return cpu.BLASLibrary() }

// SetBLASThreads sets the number of threads that one call into the C library
// may use, for the whole process, and reports whether there is a library. It
// must not be called while kernels run.
func SetBLASThreads(n int) (ok bool) { return cpu.SetBLASThreads(n) }
