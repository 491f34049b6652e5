package op

import (
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/kernels/cpu/native"
	"github.com/tessera-la/tessera/versions"
)

// definition defines an op on tiles of T and its versions. An op has either run, for a version by each
// implementation of the routines, or copies.
type definition[T kernels.Element] struct {
	versions.Op
	about string // a line that describes the op
	run   func(by implementation[T]) func(*versions.Call) error
	help  helper[T] // of the versions by run; nil if their calls use one unit

	variant string                     // the suffix of the versions by run of a C library beside the plain one, or ""
	copies  func(*versions.Call) error // the only version of an op that takes about the time of a copy
	cuda    versions.Version           // for devices; without Run, the op has none
}

// copyVersion is the name of the version by [definition.copies]. It is not "go", so a caller that
// excludes portable kernels can still copy.
const copyVersion = "copy"

// cudaVersion is the version for devices.
const cudaVersion = "cuda"

// implementation holds the routines that the versions of one name call.
type implementation[T kernels.Element] struct {
	name        string
	constraints versions.Constraints
	blas        cpu.Routines[T]
	lu          *cpu.LU[T]
	qr          cpu.QRRoutines[T]
	variant     string // the routines are only for ops with this suffix, unless it is "": see [definition.variant]
}

// helper returns how many units the versions by an implementation use in a call, and whether these stay until
// its end (see [versions.Version]); nil if it is always one.
type helper[T kernels.Element] func(by implementation[T]) func(*versions.Call) (units int, stay bool)

// op returns the op that d defines, with a version for each implementation, in their order.
func (d definition[T]) op(all []implementation[T]) *versions.Op {
	o := d.Op
	o.Type = scalar.Of[T]().String()
	add := func(v versions.Version, name string, c versions.Constraints) {
		v.Name, v.Constraints = name, c
		o.Versions = append(o.Versions, v)
	}
	if d.cuda.Run != nil {
		add(d.cuda, cudaVersion, onCUDA())
	}
	if d.run == nil {
		add(versions.Version{Run: d.copies}, copyVersion, versions.Constraints{})
		return &o
	}
	for _, i := range all {
		if i.variant != "" && i.variant != d.variant {
			continue
		}
		v := versions.Version{Run: d.run(i)}
		if d.help != nil {
			v.Help = d.help(i)
		}
		add(v, i.name, i.constraints)
	}
	return &o
}

// implementations returns the implementations of this build, the preferred one first.
func implementations[T kernels.Element]() (all []implementation[T]) {
	ours := func(name string, c versions.Constraints, p *cpu.Packed[T]) {
		all = append(all, implementation[T]{name, c, p, cpu.NewLU(p, caches()), cpu.NewQR[T](p), ""})
	}
	var any versions.Constraints
	if p, ok := cpu.AVX512[T](knlCaches()); ok {
		ours("knl", knl(), p)
	}
	// Tessera's own kernels come before those of the C library: on one core of a Xeon (model 167),
	// with OpenBLAS 0.3.21 on its SkylakeX kernels, gemm, syrk, trsm and potrf
	// of 256×256 ran at 87, 81, 74 and 52 GF/s in float64 against 68, 64, 29
	// and 20, and at 180, 153, 131 and 84 in float32 against 151, 116, 39 and
	// 25; at 64 and 512 they are ahead as well (docs/internals/kernels-gemm.md).
	for _, set := range native.Sets() {
		if p, ok := cpu.Native[T](set, caches()); ok {
			ours(set.Name, needs(set), p)
		}
	}
	if r, ok := cpu.BLAS[T](); ok {
		split, _ := cpu.BLASSplit[T]()
		q, _ := cpu.BLASQR[T]()
		lapack, _ := cpu.BLASLU[T](caches())
		info, _ := cpu.BLASLibrary()
		add := func(r cpu.Routines[T], lu *cpu.LU[T], variant string) {
			all = append(all, implementation[T]{info.Name + variant, any, r, lu, q, variant})
		}
		lu := cpu.NewLU(r, caches())
		// On a core with AVX-512 OpenBLAS gains by the split in float64 and
		// is about as fast either way in float32: see [cpu.BLASSplit].
		first := info.Name == "openblas" && scalar.Of[T]() == scalar.Float64
		if first {
			add(split, lu, splitVariant)
		}
		add(r, lu, "")
		if !first {
			add(split, lu, splitVariant)
		}
		add(r, lapack, lapackVariant)
	}
	ours("go", any, cpu.Portable[T]())
	return all
}

// Suffixes of versions by a C library.
const (
	splitVariant  = "-split"  // trsm and potrf by smaller calls
	lapackVariant = "-lapack" // getrf as LAPACK has it, and not ours over the library's gemm
)
