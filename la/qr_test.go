package la_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/qr"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/internal/sorted"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// identity returns the unit matrix.
func identity(n int) dense {
	return newDense(n, n, func(i, j int) float64 { return float64(1 - min(1, max(i-j, j-i))) })
}

// minus returns d − e.
func (d dense) minus(e dense) dense {
	return newDense(d.m, d.n, func(i, j int) float64 { return d.at(i, j) - e.at(i, j) })
}

// checkQR fails t unless q holds the factorization of a: with Q of order m,
// ‖R−QᵀA‖ / (m‖A‖ε) and ‖I−QᵀQ‖ / (mε) are below 30.
func checkQR[T la.Element](t *testing.T, q *la.QR[T], a dense, format string, args ...any) {
	t.Helper()
	what := fmt.Sprintf(format, args...)
	m, n := q.Dims()
	if m != a.m || n != a.n {
		t.Fatalf("%s: Dims are %d×%d", what, m, n)
	}
	r, full := padded[T](m, n, 1), padded[T](m, m, 2)
	r0, full0 := clone(r), clone(full)
	q.RTo(r)
	if err := q.QTo(full); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	unchanged(t, what, r, r0, everywhere)
	unchanged(t, what, full, full0, everywhere)
	for i := range m {
		for j := range min(i, n) {
			if r.At(i, j) != 0 {
				t.Fatalf("%s: R has %v at (%d, %d)", what, r.At(i, j), i, j)
			}
		}
	}
	if m == 0 {
		return
	}
	// Scaled, so that neither over- nor underflow spoils it.
	exp := 0
	if top := a.maxAbs(); top > 0 {
		exp = -math.Ilogb(top)
	}
	scale := func(d dense) dense {
		return newDense(d.m, d.n, func(i, j int) float64 { return math.Ldexp(d.at(i, j), exp) })
	}
	qt, eps := load[T](full, blas.Trans), eps[T]()*float64(m)
	small(t, identity(m).minus(qt.times(qt.t())).norm1()/eps, 30, "%s: ‖I−QᵀQ‖", what)
	if norm := scale(a).norm1(); norm > 0 {
		small(t, scale(load[T](r, blas.NoTrans)).minus(qt.times(scale(a))).norm1()/(norm*eps), 30, "%s: ‖R−QᵀA‖", what)
	} else if got := load[T](r, blas.NoTrans).maxAbs(); got != 0 {
		t.Errorf("%s: R of nothing has %v", what, got)
	}
}

// qrShapes are shapes around multiples of nb, tall, wide and empty.
func qrShapes(nb int) [][2]int {
	return [][2]int{{0, 0}, {4, 0}, {0, 4}, {1, 1}, {nb - 1, nb - 1}, {nb, nb}, {nb + 1, nb}, {nb, nb + 1}, {2*nb + 1, 2*nb - 1},
		{2 * nb, 2*nb + 1}, {3*nb + 2, 3*nb + 2}, {6*nb + 1, nb + 2}, {40 * nb, 1}, {nb + 2, 5*nb + 1}, {1, 4 * nb}}
}

// qrOptions are all trees.
func qrOptions() []la.QROptions {
	all := []la.QROptions{{Tree: qr.TreeDomains, Domain: 2, InnerBlock: 3}}
	for _, tree := range qr.Trees() {
		all = append(all, la.QROptions{Tree: tree, InnerBlock: 2})
	}
	return all
}

func newQR[T la.Element](t testing.TB, e *la.Engine, opt la.QROptions) *la.QR[T] {
	t.Helper()
	q, err := la.NewQRWith[T](e, opt)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func testQR[T la.Element](t *testing.T) {
	const nb = 5
	e := start(t, la.Options{Workers: 2, NB: nb, Direct: -1, Float: true})
	for _, opt := range qrOptions() {
		q := newQR[T](t, e, opt) // its memory is used again from shape to shape
		for _, s := range qrShapes(nb) {
			a := random[T](rand.New(rand.NewPCG(1, uint64(s[0]))), s[0], s[1], 2)
			a0 := clone(a)
			if err := q.Factorize(a); err != nil {
				t.Fatal(err)
			}
			unchanged(t, "A", a, a0, nil)
			checkQR(t, q, load[T](a, blas.NoTrans), "%+v, %d×%d", opt, s[0], s[1])
		}
	}
}

// TestQR factors random matrices of many shapes with all trees.
func TestQR(t *testing.T) {
	t.Run("f64", testQR[float64])
	t.Run("f32", testQR[float32])
}

func testQRKinds[T la.Element](t *testing.T, opt la.Options, qo la.QROptions, sizes [][2]int) {
	e := start(t, opt)
	q := newQR[T](t, e, qo)
	for _, kind := range matgen.Kinds() {
		if kind.Symmetric() && kind != matgen.Hilbert && kind != matgen.Lehmer {
			continue
		}
		for _, s := range sizes {
			if kind.Square() && s[0] != s[1] {
				continue
			}
			spec := matgen.Spec{Kind: kind, M: s[0], N: s[1], Seed: 3, NB: 5}
			if s[1] > 5 {
				spec.TileCol = 1
			}
			a := rectangle[T](t, spec, 1)
			if err := q.Factorize(a); err != nil {
				t.Errorf("%v, %v: %v", kind, s, err)
				continue
			}
			checkQR(t, q, load[T](a, blas.NoTrans), "%v, %v", kind, s)
		}
	}
}

// TestQRKinds factors LAPACK's types of general matrices and the hostile ones.
func TestQRKinds(t *testing.T) {
	sizes := [][2]int{{1, 1}, {4, 4}, {6, 6}, {17, 17}, {23, 9}, {9, 23}, {41, 4}}
	for name, v := range map[string]struct {
		opt la.Options
		qr  la.QROptions
	}{
		"tiles":  {la.Options{Workers: 2, NB: 5, Direct: -1}, la.QROptions{}},
		"greedy": {la.Options{Workers: 3, NB: 3, Direct: -1, Float: true}, la.QROptions{Tree: qr.TreeGreedy}},
		"direct": {la.Options{Workers: 1}, la.QROptions{}},
	} {
		t.Run("f64/"+name, func(t *testing.T) { testQRKinds[float64](t, v.opt, v.qr, sizes) })
		t.Run("f32/"+name, func(t *testing.T) { testQRKinds[float32](t, v.opt, v.qr, sizes) })
	}
}

// TestQRSources factors one matrix in all the forms in which it can be had.
func TestQRSources(t *testing.T) {
	const m, n = 17, 11
	a := random[float64](rand.New(rand.NewPCG(1, 2)), m, n, 3)
	want := load[float64](a, blas.NoTrans)
	d := mat.NewDense(m, n, nil)
	for i := range m {
		for j := range n {
			d.Set(i, j, a.At(i, j))
		}
	}
	tiled, _ := blocked.From[float64](a, blocked.Full, 4, blocked.CopyOptions{})
	for engine, e := range engines(t) {
		for name, src := range map[string]la.Source[float64]{
			"General": a, "*General": &a, "Dense": d, "transpose": mat.DenseCopyOf(d.T()).T(), "hidden": hidden[float64]{a}, "tiles": tiled,
		} {
			q := la.NewQR[float64](e)
			if err := q.Factorize(src); err != nil {
				t.Fatal(err)
			}
			checkQR(t, q, want, "%s: %s", engine, name)
		}
		s := mat.NewSymDense(3, []float64{1, 2, 3, 2, 4, 5, 3, 5, 6})
		q := la.NewQR[float64](e)
		if err := q.Factorize(s); err != nil {
			t.Fatal(err)
		}
		checkQR(t, q, load[float64](s, blas.NoTrans), "%s: symmetric", engine)
	}
}

// TestQRResults computes R, Q and products in all forms of destination.
func TestQRResults(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 3))
	for engine, e := range sorted.Map(engines(t)) {
		for _, opt := range []la.QROptions{{}, {Tree: qr.TreeBinary}} {
			for _, s := range [][2]int{{17, 11}, {11, 17}, {12, 12}} {
				m, n := s[0], s[1]
				k := min(m, n)
				what := fmt.Sprintf("%s: %+v, %d×%d", engine, opt, m, n)
				a := random[float64](rnd, m, n, 0)
				q := newQR[float64](t, e, opt)
				if err := q.Factorize(a); err != nil {
					t.Fatal(err)
				}
				var r, full, thin mat.Dense
				q.RTo(&r)
				top := padded[float64](k, n, 1)
				q.RTo(&top)
				if err := errors.Join(q.QTo(&full), q.QThinTo(&thin)); err != nil {
					t.Fatal(err)
				}
				if rm, rn := r.Dims(); rm != m || rn != n {
					t.Errorf("%s: R is %d×%d", what, rm, rn)
				}
				for i := range k {
					for j := range n {
						if r.At(i, j) != top.At(i, j) {
							t.Fatalf("%s: the first rows of R differ", what)
						}
					}
				}
				product := load[float64](&thin, blas.NoTrans).times(load[float64](top, blas.NoTrans))
				small(t, product.minus(load[float64](a, blas.NoTrans)).norm1()/(load[float64](a, blas.NoTrans).norm1()*float64(m)*0x1p-53), 30, "%s: QR", what)
				h := hidden[float64]{padded[float64](m, m, 0)}
				if err := q.QTo(h); err != nil || h.At(m-1, m-1) != full.At(m-1, m-1) {
					t.Errorf("%s: Q in a hidden matrix: %v", what, err)
				}
				b := random[float64](rnd, m, 13, 1)
				bt := random[float64](rnd, 13, m, 1)
				for _, trans := range []bool{false, true} {
					op := load[float64](&full, blas.NoTrans)
					if trans {
						op = op.t()
					}
					for _, side := range []blas.Side{blas.Left, blas.Right} {
						c, want := b, op.times(load[float64](b, blas.NoTrans))
						if side == blas.Right {
							c, want = bt, load[float64](bt, blas.NoTrans).times(op)
						}
						var x mat.Dense
						if err := q.ApplyQTo(&x, side, trans, c); err != nil {
							t.Fatal(err)
						}
						small(t, load[float64](&x, blas.NoTrans).minus(want).norm1()/(want.norm1()*float64(m)*0x1p-53), 30, "%s: product, side %c, trans %v", what, side, trans)
						in := clone(c)
						if err := q.ApplyQTo(in, side, trans, in); err != nil || in.At(1, 1) != x.At(1, 1) {
							t.Errorf("%s: product in place: %v", what, err)
						}
					}
				}
				var shape *la.ShapeError
				for name, err := range map[string]error{
					"QTo":             q.QTo(mat.NewDense(m, m+1, nil)),
					"QThinTo":         q.QThinTo(mat.NewDense(m, k+1, nil)),
					"ApplyQTo":        q.ApplyQTo(&mat.Dense{}, blas.Left, false, mat.NewDense(m+1, 2, nil)),
					"ApplyQTo, right": q.ApplyQTo(&mat.Dense{}, blas.Right, false, mat.NewDense(2, m+1, nil)),
					"ApplyQTo, dst":   q.ApplyQTo(mat.NewDense(1, 1, nil), blas.Left, false, b),
					"ApplyQTo, side":  q.ApplyQTo(&mat.Dense{}, 'X', false, b),
				} {
					if !errors.As(err, &shape) {
						t.Errorf("%s: %s: %v, want a ShapeError", what, name, err)
					}
				}
				if v := panics(func() { q.RTo(mat.NewDense(m+1, n, nil)) }); v != mat.ErrShape {
					t.Errorf("%s: RTo panics with %v", what, v)
				}
			}
		}
	}
}

// TestQRNonFinite puts infinities and NaN everywhere.
func TestQRNonFinite(t *testing.T) {
	const m, n = 9, 7
	for engine, e := range engines(t) {
		for i := range m {
			for j := range n {
				a := random[float32](rand.New(rand.NewPCG(1, 4)), m, n, 1)
				a.Set(i, j, float32([]float64{math.NaN(), math.Inf(1), math.Inf(-1)}[(i+j)%3]))
				a.Set(m-1, n-1, float32(math.NaN())) // the first one counts
				q := la.NewQR[float32](e)
				var nf *la.NonFiniteError
				if err := q.Factorize(a); !errors.As(err, &nf) || nf.Row != i || nf.Col != j {
					t.Errorf("%s: (%d, %d): %v", engine, i, j, err)
				}
				if !q.IsEmpty() {
					t.Fatal("a factorization that has failed")
				}
			}
		}
	}
}

// TestQRAgain factors one matrix after another with one QR, after failures too.
func TestQRAgain(t *testing.T) {
	for _, opt := range []la.Options{{Workers: 2, NB: 5, Direct: -1}, {Workers: 2, NB: 16, Direct: 20}} {
		q := la.NewQR[float64](start(t, opt))
		for round, s := range [][2]int{{12, 12}, {12, 12}, {30, 7}, {30, 7}, {3, 3}, {0, 0}, {7, 30}, {7, 30}, {30, 30}, {21, 21}} {
			a := random[float64](rand.New(rand.NewPCG(2, uint64(round))), s[0], s[1], 0)
			if round%3 == 1 {
				bad := clone(a)
				bad.Data[0] = math.NaN()
				if err := q.Factorize(bad); err == nil || !q.IsEmpty() {
					t.Errorf("round %d: %v", round, err)
				}
			}
			if err := q.Factorize(a); err != nil {
				t.Fatal(err)
			}
			checkQR(t, q, load[float64](a, blas.NoTrans), "round %d, %v", round, s)
			if round%2 == 0 {
				q.Reset()
			}
		}
	}
	// The memory of a former factorization is used again.
	a := random[float64](rand.New(rand.NewPCG(2, 100)), 512, 512, 0)
	q := la.NewQR[float64](start(t, la.Options{Workers: 1, NB: 64, Direct: -1}))
	var before, after runtime.MemStats
	for round := range 5 {
		if round == 1 {
			runtime.ReadMemStats(&before)
		}
		if err := q.Factorize(a); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if got := (after.TotalAlloc - before.TotalAlloc) / 4; got > 512*512*8/4 {
		t.Errorf("factoring again allocates %d bytes", got)
	}
}

// TestQRNotFactorized checks that nothing works without a factorization.
func TestQRNotFactorized(t *testing.T) {
	one := mat.NewDense(1, 1, []float64{4})
	var failed la.QR[float64]
	if err := failed.Factorize(mat.NewDense(1, 1, []float64{math.NaN()})); err == nil {
		t.Fatal("NaN has been factored")
	}
	var reset la.QR[float64]
	if err := reset.Factorize(one); err != nil {
		t.Fatal(err)
	}
	reset.Reset()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	var cancelled la.QR[float64]
	if err := cancelled.Factorize(one, la.WithContext(ended)); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	for name, q := range map[string]*la.QR[float64]{"zero": {}, "failed": &failed, "reset": &reset, "cancelled": &cancelled} {
		for method, f := range map[string]func(){
			"Dims":       func() { q.Dims() },
			"Flops":      func() { q.Flops() },
			"RTo":        func() { q.RTo(&mat.Dense{}) },
			"QTo":        func() { q.QTo(&mat.Dense{}) },
			"QThinTo":    func() { q.QThinTo(&mat.Dense{}) },
			"ApplyQTo":   func() { q.ApplyQTo(&mat.Dense{}, blas.Left, false, one) },
			"SolveTo":    func() { q.SolveTo(&mat.Dense{}, false, one) },
			"SolveVecTo": func() { q.SolveVecTo(&mat.VecDense{}, false, mat.NewVecDense(1, nil)) },
			"Det":        func() { q.Det() },
			"LogDet":     func() { q.LogDet() },
			"Cond":       func() { q.Cond() },
		} {
			if v := panics(f); v != la.ErrNotFactorized {
				t.Errorf("%s: %s panics with %v", name, method, v)
			}
		}
		if q.Reset(); !q.IsEmpty() {
			t.Errorf("%s: not empty", name)
		}
	}
}
