package matcalls

import (
	"context"
	"math"
	"runtime"
	"slices"

	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/internal/origin"
	"github.com/tessera-la/tessera/internal/quiet"
	"github.com/tessera-la/tessera/internal/words"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/dropin"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	blasgonum "gonum.org/v1/gonum/blas/gonum"
	"gonum.org/v1/gonum/lapack"
	lapackgonum "gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/mat"
)

// Op is a call of gonum's mat.
type Op uint8

// The calls.
const (
	Mul      Op = iota // Dense.Mul
	Cholesky           // Cholesky.Factorize, with its condition estimate
	LU                 // LU.Factorize, with its condition estimate
	QR                 // QR.Factorize, with its condition estimate
)

var names = words.Of[Op]{"mul", "cholesky", "lu", "qr"}

// Ops returns all calls.
func Ops() []Op { return names.All() }

func (o Op) String() string { return names.Name(o) }

// flops returns the number of operations of the factorization or product, on which rates are based. Other work
// of the call does not count.
func (o Op) flops(n int) float64 {
	x := float64(n)
	return x * x * x * [...]float64{2, 1. / 3, 2. / 3, 4. / 3}[o]
}

// Result compares a call of gonum's mat with la/dropin to other implementations.
type Result struct {
	origin.Origin
	Op      string `json:"op"`
	N       int    `json:"n"`
	Workers int    `json:"workers"`
	Library string `json:"library,omitempty"` // library behind Netlib
	Core    string `json:"core,omitempty"`

	Dropin Side  `json:"dropin"`
	Gonum  Side  `json:"gonum"`            // gonum alone
	Netlib *Side `json:"netlib,omitempty"` // gonum's netlib with the C library

	OverGonum  float64  `json:"ratio_gonum"` // of the best rates
	OverNetlib *float64 `json:"ratio_netlib,omitempty"`
	Passed     bool     `json:"passed"`

	// Load is the load of other programs meanwhile, nil if unknown.
	Load *quiet.Load `json:"load,omitempty"`
}

// HasNetlib reports whether this build can compare with gonum's netlib.
func HasNetlib() bool { _, ok := netlibMat(); return ok }

// Compare compares a call on n×n matrices. Meanwhile it changes gonum's BLAS for the whole process; it restores
// it at the end. LAPACK is reset to gonum's own, since gonum does not reveal the previous one. The error is
// la's, or the cause of the end of ctx. A wrong result is no error, but is not Passed.
func Compare(ctx context.Context, cfg Config, o Op, n int) (Result, error) {
	r := Result{Origin: origin.Here(), Op: o.String(), N: n, Workers: cfg.Workers}
	former := blas64.Implementation()
	op.NewTable() // sets the number of the library's threads, which must not happen later
	alone := implementation{blasgonum.Implementation{}, lapackgonum.Implementation{}, 1}
	defer implementation{former, lapackgonum.Implementation{}, 1}.use()

	// As in dropin.Install, except for the number of workers.
	e, err := la.NewEngine(la.Options{Static: true, Workers: cfg.Workers})
	if err != nil {
		return r, err
	}
	defer e.Close()
	opt := dropin.Options{Engine: e}
	c, err := newCall(cfg.Seed, o, n)
	if err != nil {
		return r, err
	}
	runtime.GC() // earlier garbage must not be collected during the measurement
	ours := c.contender(implementation{dropin.NewBLAS(opt), dropin.NewLAPACK(opt), 1})
	sides := []*contender{ours}
	if impl, ok := netlibMat(); ok {
		impl.threads = cfg.Workers
		sides = append(sides, c.contender(impl))
	}
	watch := quiet.Start()
	if err := alternate(ctx, cfg, sides...); err != nil {
		return r, err
	}
	// gonum takes ten times as long and needs only a few calls.
	few := cfg
	few.Warmup, few.Repeat = min(cfg.Warmup, 1), min(cfg.Repeat, 3)
	gonum := c.contender(alone)
	if err := alternate(ctx, few, gonum); err != nil {
		return r, err
	}
	if l, ok := watch.Stop(); ok {
		r.Load = &l
	}
	flops := o.flops(n)
	r.Dropin, r.Gonum = ours.side(flops), gonum.side(flops)
	r.OverGonum = r.Dropin.GFLOPSBest / r.Gonum.GFLOPSBest
	r.Passed = ours.worst < c.bound && gonum.worst < c.bound
	if len(sides) > 1 {
		s := sides[1].side(flops)
		ratio := r.Dropin.GFLOPSBest / s.GFLOPSBest
		r.Netlib, r.OverNetlib = &s, &ratio
		r.Passed = r.Passed && sides[1].worst < c.bound
	}
	return r, nil
}

// call is a call and the check of its result.
type call struct {
	call     func()
	residual func() float64
	bound    float64
}

func (c *call) contender(i implementation) *contender {
	return &contender{enter: i.use, call: c.call, residual: c.residual}
}

func newCall(seed uint64, op Op, n int) (*call, error) {
	kind := matgen.Random
	if op == Cholesky {
		kind = matgen.SPD
	}
	data, err := generate(kind, seed, n)
	if err != nil {
		return nil, err
	}
	a, x := mat.NewDense(n, n, data), signs(seed+2, n)
	rows := norm(lapack.MaxRowSum, n, data)
	want, unit := times(blas.NoTrans, data, x), float64(n)*rows*epsilon
	switch op {
	case Mul:
		other, err := generate(kind, seed+1, n)
		if err != nil {
			return nil, err
		}
		b, c := mat.NewDense(n, n, other), mat.NewDense(n, n, nil)
		want = times(blas.NoTrans, data, times(blas.NoTrans, other, x))
		unit = math.Sqrt(float64(n)+2) * rows * norm(lapack.MaxRowSum, n, other) * epsilon
		return &call{func() { c.Mul(a, b) }, func() float64 {
			return distance(times(blas.NoTrans, c.RawMatrix().Data, x), want) / unit
		}, productBound}, nil
	case Cholesky:
		s := mat.NewSymDense(n, data)
		var chol mat.Cholesky
		ok := false
		return &call{func() { ok = chol.Factorize(s) }, func() float64 {
			if !ok {
				return math.Inf(1)
			}
			u := chol.RawU().(mat.RawTriangular).RawTriangular().Data
			return distance(gram(u, x), want) / unit
		}, factorBound}, nil
	case LU:
		var lu mat.LU
		return &call{func() { lu.Factorize(a) }, func() float64 {
			var l, u mat.TriDense
			lu.LTo(&l)
			lu.UTo(&u)
			y, z := slices.Clone(x), make([]float64, n)
			multiply(blas.Upper, blas.NoTrans, blas.NonUnit, u.RawTriangular().Data, y)
			multiply(blas.Lower, blas.NoTrans, blas.Unit, l.RawTriangular().Data, y)
			for i, row := range lu.RowPivots(nil) {
				z[i] = y[row]
			}
			return distance(z, want) / unit
		}, factorBound}, nil
	}
	want, unit = times(blas.Trans, data, want), unit*norm(lapack.MaxColumnSum, n, data)
	var qr mat.QR
	return &call{func() { qr.Factorize(a) }, func() float64 {
		// RᵀR = AᵀA needs neither Q nor the n³ operations to form it.
		var r mat.Dense
		qr.RTo(&r)
		return distance(gram(r.RawMatrix().Data, x), want) / unit
	}, factorBound}, nil
}

// generate returns an n×n matrix.
func generate(kind matgen.Kind, seed uint64, n int) ([]float64, error) {
	a := make([]float64, n*n)
	return a, matgen.Generate(matgen.Spec{Kind: kind, M: n, N: n, Seed: seed}, a, n)
}

// gram returns UᵀU·x for an upper triangle U.
func gram(u, x []float64) []float64 {
	y := slices.Clone(x)
	multiply(blas.Upper, blas.NoTrans, blas.NonUnit, u, y)
	multiply(blas.Upper, blas.Trans, blas.NonUnit, u, y)
	return y
}
