package peers

import (
	"context"
	"fmt"
	"math"
	"runtime"

	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/kernels/builtin"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/dropin"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	blasgonum "gonum.org/v1/gonum/blas/gonum"
	"gonum.org/v1/gonum/lapack"
	lapackgonum "gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// MatOp is a call of gonum's mat.
type MatOp uint8

// The calls.
const (
	MatMul      MatOp = iota // Dense.Mul
	MatCholesky              // Cholesky.Factorize, with its condition estimate
	MatLU                    // LU.Factorize, with its condition estimate
	MatQR                    // QR.Factorize, with its condition estimate
)

// MatOps returns all calls.
func MatOps() []MatOp { return []MatOp{MatMul, MatCholesky, MatLU, MatQR} }

func (o MatOp) String() string {
	names := [...]string{"mul", "cholesky", "lu", "qr"}
	if int(o) < len(names) {
		return names[o]
	}
	return fmt.Sprintf("MatOp(%d)", uint8(o))
}

// flops returns the operations of the factorization or product by which rates
// are counted, whatever the call does beside it.
func (o MatOp) flops(n int) float64 {
	x := float64(n)
	return x * x * x * [...]float64{2, 1. / 3, 2. / 3, 4. / 3}[o]
}

// MatResult is the comparison of a call of gonum's mat with la/dropin behind it
// and with what else there is.
type MatResult struct {
	Op      string `json:"op"`
	N       int    `json:"n"`
	Workers int    `json:"workers"`
	Library string `json:"library,omitempty"` // behind Netlib
	Core    string `json:"core,omitempty"`

	Dropin Side  `json:"dropin"`
	Gonum  Side  `json:"gonum"`            // gonum alone
	Netlib *Side `json:"netlib,omitempty"` // gonum with netlib and the C library

	OverGonum  float64  `json:"ratio_gonum"` // of the best rates
	OverNetlib *float64 `json:"ratio_netlib,omitempty"`
	Passed     bool     `json:"passed"`
}

// Ratio returns the ratio to "gonum" or "netlib", if it was measured.
func (r *MatResult) Ratio(against string) (ratio float64, ok bool) {
	switch {
	case against == "gonum":
		return r.OverGonum, true
	case against == "netlib" && r.OverNetlib != nil:
		return *r.OverNetlib, true
	}
	return 0, false
}

// implementation is what can be behind gonum's mat.
type implementation struct {
	blas    blas.Float64
	lapack  lapack.Float64
	threads int // of the C library
}

func (i implementation) use() {
	builtin.SetBLASThreads(i.threads)
	blas64.Use(i.blas)
	lapack64.Use(i.lapack)
}

// HasNetlib reports whether this build can compare with gonum's netlib.
func HasNetlib() bool { _, ok := netlibMat(); return ok }

// CompareMat compares a call on n×n matrices. gonum's choice of BLAS is changed
// meanwhile, for all of the process, and put back; of LAPACK gonum's own is
// left, since gonum does not tell what it had. The error is la's, or the cause
// of ctx's end; a wrong result is none, but not Passed.
func CompareMat(ctx context.Context, cfg Config, op MatOp, n int) (MatResult, error) {
	r := MatResult{Op: op.String(), N: n, Workers: cfg.Workers}
	former := blas64.Implementation()
	builtin.NewTable() // sets the library's threads, and must not do so later
	alone := implementation{blasgonum.Implementation{}, lapackgonum.Implementation{}, 1}
	defer implementation{former, lapackgonum.Implementation{}, 1}.use()

	// As dropin.Install has it, but for the number of workers.
	e, err := la.NewEngine(la.Options{Static: true, Workers: cfg.Workers})
	if err != nil {
		return r, err
	}
	defer e.Close()
	opt := dropin.Options{Engine: e}
	c, err := newMatCall(cfg.Seed, op, n)
	if err != nil {
		return r, err
	}
	runtime.GC() // as compare does
	ours := c.contender(implementation{dropin.NewBLAS(opt), dropin.NewLAPACK(opt), 1})
	sides := []*contender{ours}
	if impl, ok := netlibMat(); ok {
		impl.threads = cfg.Workers
		sides = append(sides, c.contender(impl))
	}
	if err := alternate(ctx, cfg, cfg.Repeat, sides...); err != nil {
		return r, err
	}
	// gonum takes ten times as long, and needs no more than a few looks.
	few := cfg
	few.Warmup = min(cfg.Warmup, 1)
	gonum := c.contender(alone)
	if err := alternate(ctx, few, min(cfg.Repeat, 3), gonum); err != nil {
		return r, err
	}
	flops := op.flops(n)
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

// matCall is a call and what judges its result.
type matCall struct {
	call     func()
	residual func() float64
	bound    float64
}

func (c *matCall) contender(i implementation) *contender {
	return &contender{enter: i.use, restore: func() {}, residual: c.residual,
		call: timed(func() error { c.call(); return nil })}
}

func newMatCall(seed uint64, op MatOp, n int) (*matCall, error) {
	kind := matgen.Random
	if op == MatCholesky {
		kind = matgen.SPD
	}
	data, err := generate[float64](kind, Square(n), seed)
	if err != nil {
		return nil, err
	}
	a := mat.NewDense(n, n, data)
	switch op {
	case MatMul:
		other, err := generate[float64](kind, Square(n), seed+1)
		if err != nil {
			return nil, err
		}
		b, c, judge := mat.NewDense(n, n, other), mat.NewDense(n, n, nil), newProduct(seed+2, n, data, other)
		return &matCall{func() { c.Mul(a, b) }, func() float64 { return judge.residual(c.RawMatrix().Data) }, gemmBound}, nil
	case MatCholesky:
		s, judge := mat.NewSymDense(n, data), newFactor(seed+2, n, data)
		var chol mat.Cholesky
		ok := false
		return &matCall{func() { ok = chol.Factorize(s) }, func() float64 {
			if !ok {
				return math.Inf(1)
			}
			var u mat.TriDense
			chol.UTo(&u)
			return judge.upper(u.RawTriangular().Data)
		}, factorBound}, nil
	case MatLU:
		judge := judgeLU(seed+2, Square(n), data)
		var lu mat.LU
		return &matCall{func() { lu.Factorize(a) }, func() float64 {
			var l, u mat.TriDense
			lu.LTo(&l)
			lu.UTo(&u)
			f := u.RawTriangular().Data
			for i := range n {
				copy(f[i*n:i*n+i], l.RawTriangular().Data[i*n:i*n+i])
			}
			return judge.byRows(f, lu.RowPivots(nil))
		}, factorBound}, nil
	}
	x := signs(seed+2, n)
	columns := transposed(Square(n), data)
	want := times(n, columns, times(n, data, x)) // AᵀA·x
	unit := float64(n) * infNorm(n, columns) * infNorm(n, data) * epsilon[float64]()
	var qr mat.QR
	return &matCall{func() { qr.Factorize(a) }, func() float64 {
		// RᵀR = AᵀA, which does without Q, and its n³ operations.
		var r mat.Dense
		qr.RTo(&r)
		f := r.RawMatrix().Data
		y := make([]float64, n)
		for i := range n {
			row := f[i*n+i : (i+1)*n]
			axpy(dot(row, x[i:]), row, y[i:])
		}
		return distance(y, want) / unit
	}, factorBound}, nil
}
