package builtin

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/versions"
)

// NewTable returns a new table of all ops with the versions of this build in
// order of preference: those that run on a device ("cuda", which no worker on
// the CPU takes), assembly for one processor ("knl") and for instruction
// sets ("avx512", "avx2"), the C library where a build tag has linked one in
// ("openblas" or "mkl", and "openblas-split" or "mkl-split" for trsm and potrf
// made of smaller calls), portable Go ("go") last.
//
// A kernel uses one thread, so NewTable sets the number of threads of the C
// library to one, for the whole process. To compare with the library's own threads,
// set it with [SetBLASThreads], and back.
func NewTable() *kernels.Table {
	SetBLASThreads(1)
	return builtin()
}

func builtin() *kernels.Table {
	return &kernels.Table{F32: newOps[float32]("f32"), F64: newOps[float64]("f64")}
}

// Library is what [LinkedLibrary] returns.
type Library = cpu.BLASInfo

// LinkedLibrary describes the C library that this build is linked with; ok is false if there
// is none. Making a table has set it to one thread a call.
func LinkedLibrary() (info Library, ok bool) { return cpu.BLASLibrary() }

// SetBLASThreads sets the number of threads that one call into the C library
// may use, for the whole process, and reports whether there is a library. It
// must not be called while kernels run.
func SetBLASThreads(n int) (ok bool) { return cpu.SetBLASThreads(n) }

// AbsentVersion is a version of an op that another build of Tessera has.
type AbsentVersion struct {
	Op, Type, Name string
	Reason         string // why this build has it not
}

// Absent returns the versions that this build lacks, op by op in the order of
// [Table.All], with the reason.
func Absent() []AbsentVersion {
	present := ""
	if info, ok := cpu.BLASLibrary(); ok {
		present = info.Name
	}
	var absent []AbsentVersion
	for _, op := range builtin().All() {
		if op.Version(copyVersion) != nil {
			continue // the same in all builds
		}
		if why := cpu.WhyNoAssembly(); why != "" {
			for _, name := range []string{"knl", "avx512", "avx2"} {
				absent = append(absent, AbsentVersion{op.Name, op.Type, name, why})
			}
		}
		for _, name := range cpu.BLASLibraries() {
			if name == present {
				continue
			}
			absent = append(absent, AbsentVersion{op.Name, op.Type, name, cpu.WhyNoBLAS(name)})
			if op.Name == "trsm" || op.Name == "potrf" {
				absent = append(absent, AbsentVersion{op.Name, op.Type, name + splitSuffix, cpu.WhyNoBLAS(name)})
			}
		}
	}
	return absent
}

// splitSuffix marks the versions of trsm and potrf that are put together from
// smaller calls of a library.
const splitSuffix = "-split"

// fresh returns a parameter with every field zero.
func fresh[P any]() any { return new(P) }

// newOps returns the ops on T, each with one version per implementation of
// the routines.
func newOps[T kernels.Element](typ string) kernels.Ops[T] {
	o := kernels.Ops[T]{
		Gemm:  &versions.Op{Name: "gemm", Type: typ, Work: gemmWork[T], Thin: thin[T], NewParams: fresh[kernels.Gemm], Derive: derive[T](onLeft, 1)},
		Syrk:  &versions.Op{Name: "syrk", Type: typ, Work: syrkWork[T], NewParams: fresh[kernels.Syrk], Derive: derive[T](onLeft, 0)},
		Trsm:  &versions.Op{Name: "trsm", Type: typ, Work: trsmWork[T], Thin: thin[T], NewParams: fresh[kernels.Trsm]},
		Potrf: &versions.Op{Name: "potrf", Type: typ, Work: potrfWork[T], NewParams: fresh[kernels.Potrf]},

		Getrf:   &versions.Op{Name: "getrf", Type: typ, Work: getrfWork[T], NewParams: fresh[kernels.Getrf]},
		Getrfnp: &versions.Op{Name: "getrfnp", Type: typ, Work: getrfWork[T], NewParams: fresh[kernels.Getrfnp]},
		Laswp:   &versions.Op{Name: "laswp", Type: typ, Work: laswpWork[T], NewParams: fresh[kernels.Laswp]},
		Lapmt:   &versions.Op{Name: "lapmt", Type: typ, Work: lapmtWork[T], NewParams: fresh[kernels.Lapmt]},
		Tntleaf: &versions.Op{Name: "tntleaf", Type: typ, Work: tntleafWork[T], NewParams: fresh[kernels.Tntleaf]},
		Tntnode: &versions.Op{Name: "tntnode", Type: typ, Work: tntnodeWork[T], NewParams: fresh[kernels.Tntnode]},
		Tntroot: &versions.Op{Name: "tntroot", Type: typ, Work: tntrootWork[T], NewParams: fresh[kernels.Tntroot]},

		Trmm:  &versions.Op{Name: "trmm", Type: typ, Work: trmmWork[T], Thin: thin[T], NewParams: fresh[kernels.Trmm]},
		Geqrt: &versions.Op{Name: "geqrt", Type: typ, Work: geqrtWork[T], NewParams: fresh[kernels.Geqrt]},
		Unmqr: &versions.Op{Name: "unmqr", Type: typ, Work: unmqrWork[T], Thin: thin[T], NewParams: fresh[kernels.Unmqr], Derive: derive[T](asFactor, -1)},
		Tsqrt: &versions.Op{Name: "tsqrt", Type: typ, Work: tsqrtWork[T], NewParams: fresh[kernels.Tsqrt]},
		Tsmqr: &versions.Op{Name: "tsmqr", Type: typ, Work: tsmqrWork[T], Thin: thin[T], NewParams: fresh[kernels.Tsmqr], Derive: derive[T](asFactor, -1)},
		Ttqrt: &versions.Op{Name: "ttqrt", Type: typ, Work: ttqrtWork[T], NewParams: fresh[kernels.Ttqrt]},
		Ttmqr: &versions.Op{Name: "ttmqr", Type: typ, Work: ttmqrWork[T], Thin: thin[T], NewParams: fresh[kernels.Ttmqr], Derive: derive[T](asFactor, -1)},

		Larft: &versions.Op{Name: "larft", Type: typ, Work: larftWork[T], NewParams: fresh[kernels.Larft]},
		Lacpy: &versions.Op{Name: "lacpy", Type: typ, Work: lacpyWork[T], NewParams: fresh[kernels.Lacpy]},
		Recut: &versions.Op{Name: "recut", Type: typ, Work: recutWork[T], NewParams: fresh[kernels.Recut]},
		Laset: &versions.Op{Name: "laset", Type: typ, Work: lasetWork[T], NewParams: fresh[kernels.Laset]},
		Plrnt: &versions.Op{Name: "plrnt", Type: typ, Work: plrntWork[T], NewParams: fresh[kernels.Plrnt]},
		Asum:  &versions.Op{Name: "asum", Type: typ, Work: asumWork[T], NewParams: fresh[kernels.Asum]},
		Lange: &versions.Op{Name: "lange", Type: typ, Work: langeWork[T], NewParams: fresh[kernels.Lange]},
		Lag2s: &versions.Op{Name: "lag2s", Type: typ, Work: lag2sWork[T], NewParams: fresh[kernels.Lag2s]},
		Lag2d: &versions.Op{Name: "lag2d", Type: typ, Work: lag2dWork[T], NewParams: fresh[kernels.Lag2d]},
		Lasym: &versions.Op{Name: "lasym", Type: typ, Work: lasymWork[T], NewParams: fresh[kernels.Lasym]},
	}
	type helper = func(*versions.Call) (units int, stay bool)
	add := func(op *versions.Op, name string, c versions.Constraints, help helper, run func(*versions.Call) error) {
		op.Versions = append(op.Versions, versions.Version{Name: name, Constraints: c, Help: help, Run: run})
	}
	products := func(name string, r cpu.Routines[T], c versions.Constraints) {
		add(o.Gemm, name, c, helpWith[T](r, gemmWork[T]), gemm(r))
		add(o.Syrk, name, c, helpWith[T](r, syrkWork[T]), syrk(r))
	}
	solves := func(name string, r cpu.Routines[T], c versions.Constraints) {
		add(o.Trsm, name, c, helpWith[T](r, trsmWork[T]), triangular(r, false))
		add(o.Potrf, name, c, helpPotrf(r), potrf(r))
	}
	lu := func(name string, r cpu.Routines[T], c versions.Constraints) {
		l := cpu.NewLU(r, caches())
		add(o.Getrf, name, c, getrfHelp(l), getrf(l))
		add(o.Getrfnp, name, c, nil, getrfnp(l))
		add(o.Laswp, name, c, nil, laswp(l))
		add(o.Lapmt, name, c, nil, lapmt[T])
		add(o.Tntleaf, name, c, nil, tntleaf(l))
		add(o.Tntnode, name, c, nil, tntnode(l))
		add(o.Tntroot, name, c, nil, tntroot[T])
	}
	qr := func(name string, r cpu.Routines[T], q cpu.QRRoutines[T], c versions.Constraints) {
		add(o.Trmm, name, c, nil, triangular(r, true))
		add(o.Geqrt, name, c, nil, geqrt(q))
		add(o.Unmqr, name, c, helpWith[T](q, o.Unmqr.Work), unmqr(q))
		add(o.Tsqrt, name, c, nil, tpqrt(q, false))
		add(o.Tsmqr, name, c, helpWith[T](q, o.Tsmqr.Work), tpmqrt(q, false))
		add(o.Ttqrt, name, c, nil, tpqrt(q, true))
		add(o.Ttmqr, name, c, helpWith[T](q, o.Ttmqr.Work), tpmqrt(q, true))
	}
	addCopies(&o)
	var any versions.Constraints
	ours := func(name string, p *cpu.Packed[T], c versions.Constraints) {
		products(name, p, c)
		solves(name, p, c)
		lu(name, p, c)
		qr(name, p, cpu.NewQR[T](p), c)
	}
	if p, ok := cpu.AVX512[T](knlCaches()); ok {
		ours("knl", p, knl())
	}
	// Ours come before the C library's: on one core of a Xeon (model 167),
	// with OpenBLAS 0.3.21 on its SkylakeX kernels, gemm, syrk, trsm and potrf
	// of 256×256 ran at 87, 81, 74 and 52 GF/s in float64 against 68, 64, 29
	// and 20, and at 180, 153, 131 and 84 in float32 against 151, 116, 39 and
	// 25; at 64 and 512 they are ahead as well (docs/internals/kernels-gemm.md).
	if p, ok := cpu.AVX512[T](caches()); ok {
		ours("avx512", p, avx512())
	}
	if p, ok := cpu.AVX2[T](caches()); ok {
		ours("avx2", p, avx2())
	}
	if r, ok := cpu.BLAS[T](); ok {
		split, _ := cpu.BLASSplit[T]()
		info, _ := cpu.BLASLibrary()
		products(info.Name, r, any)
		// On a core with AVX-512 OpenBLAS gains by the split in float64 and
		// is about as fast either way in float32: see [cpu.BLASSplit].
		if info.Name == "openblas" && typ == "f64" {
			solves(info.Name+splitSuffix, split, any)
			solves(info.Name, r, any)
		} else {
			solves(info.Name, r, any)
			solves(info.Name+splitSuffix, split, any)
		}
		lu(info.Name, r, any)
		q, _ := cpu.BLASQR[T]()
		qr(info.Name, r, q, any)
	}
	ours("go", cpu.Portable[T](), any)
	addCUDA(&o)
	return o
}
