package op

import (
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/kernels/cpu/native"
	"github.com/tessera-la/tessera/versions"
)

// NewTable returns a new table of all ops with the versions of this build in order of preference:
// on a device ("cuda", which no worker on the CPU takes); in assembly for one processor ("knl")
// and for instruction sets ("avx512", "avx2", "neon"); the C library of a build tag ("openblas" or "mkl",
// also "openblas-split" or "mkl-split" for trsm and potrf by smaller calls, and "openblas-lapack" or
// "mkl-lapack" for getrf by the library's xGETRF, where the others are ours over its gemm); portable Go ("go").
//
// A kernel uses one thread, so NewTable sets the number of threads of the C library to one, for
// the whole process. [SetBLASThreads] sets another number, to compare with the library's own
// threads.
func NewTable() *kernels.Table {
	SetBLASThreads(1)
	return builtin()
}

// builtin returns the table of all ops, and leaves the number of threads of the C library as it is.
func builtin() *kernels.Table {
	return kernels.MakeTable(map[kernels.Type][]*versions.Op{
		scalar.Float32: ops[float32](),
		scalar.Float64: ops[float64](),
	})
}

// Library describes a C library.
type Library = cpu.BLASInfo

// LinkedLibrary describes the C library that this build is linked with; ok is false if there is
// none. NewTable sets it to one thread a call.
func LinkedLibrary() (info Library, ok bool) { return cpu.BLASLibrary() }

// SetBLASThreads sets the number of threads that one call of the C library may use, for the whole
// process, and reports whether there is a library. No kernel may run meanwhile.
func SetBLASThreads(n int) (ok bool) { return cpu.SetBLASThreads(n) }

// AbsentVersion is a version of an op that another build of Tessera has.
type AbsentVersion struct {
	Op, Type, Name string

	Reason string // why this build lacks the version
}

// Absent returns the versions that this build lacks, op by op in the order of
// [kernels.Table.All], with the reason.
func Absent() []AbsentVersion { return append(absent[float32](), absent[float64]()...) }

// absent is Absent for the ops on tiles of T.
func absent[T kernels.Element]() (all []AbsentVersion) {
	present := ""
	if info, ok := cpu.BLASLibrary(); ok {
		present = info.Name
	}
	typ := scalar.Of[T]().String()
	for _, d := range list[T]() {
		if d.run == nil {
			continue // the same in all builds
		}
		if why := cpu.WhyNoAssembly(); why != "" {
			all = append(all, AbsentVersion{d.Name, typ, "knl", why})
		}
		for _, set := range native.Sets() {
			if why := set.Missing(); why != "" {
				all = append(all, AbsentVersion{d.Name, typ, set.Name, why})
			}
		}
		for _, name := range cpu.BLASLibraries() {
			if name == present {
				continue
			}
			all = append(all, AbsentVersion{d.Name, typ, name, cpu.WhyNoBLAS(name)})
			if d.variant != "" {
				all = append(all, AbsentVersion{d.Name, typ, name + d.variant, cpu.WhyNoBLAS(name)})
			}
		}
	}
	return all
}
