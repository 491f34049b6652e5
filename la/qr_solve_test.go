package la_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/qr"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/internal/sorted"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// factoredQR returns the factorization of the matrix that s names, and the
// matrix.
func factoredQR[T la.Element](t *testing.T, e *la.Engine, opt la.QROptions, s matgen.Spec) (*la.QR[T], dense) {
	t.Helper()
	a := rectangle[T](t, s, 1)
	q := newQR[T](t, e, opt)
	if err := q.Factorize(a); err != nil {
		t.Fatalf("%v, %d×%d: %v", s.Kind, s.M, s.N, err)
	}
	return q, load[T](a, blas.NoTrans)
}

// leastSquaresResidual returns ‖RᵀA‖ / (‖A‖·‖B‖·max(m, n, nrhs)·ε) for
// R = B − AX.
func leastSquaresResidual[T la.Element](a, x, b dense) float64 {
	r := b.minus(a.times(x))
	scale := a.norm1() * b.norm1() * float64(max(a.m, a.n, x.n)) * eps[T]()
	if e := r.t().times(a).norm1(); scale > 0 {
		return e / scale
	}
	return 0
}

// rowSpaceResidual returns how far the columns of X are from the row space of a
// matrix, as the distance of X from its projection there, ‖X − V·VᵀX‖ / (‖X‖·n·ε),
// with V an orthonormal basis that is computed by gonum.
func rowSpaceResidual[T la.Element](a, x dense) float64 {
	if x.norm1() == 0 {
		return 0
	}
	var lq mat.LQ
	lq.Factorize(mat.NewDense(a.m, a.n, a.x))
	var q mat.Dense
	lq.QTo(&q)
	v := newDense(a.n, a.m, func(i, j int) float64 { return q.At(j, i) })
	return x.minus(v.times(v.t().times(x))).norm1() / (x.norm1() * float64(a.n) * eps[T]())
}

// checkSolution fails t unless x solves a·x = b as it should: in the least
// squares sense, exactly, or with the least norm.
func checkSolution[T la.Element](t *testing.T, what string, a, x, b dense) {
	t.Helper()
	if a.m >= a.n {
		small(t, leastSquaresResidual[T](a, x, b), 30, "%s: least squares", what)
	}
	if a.m <= a.n {
		small(t, solveResidual[T](a, x, b), 30, "%s: solution", what)
	}
	if a.m > 0 && a.m < a.n {
		small(t, rowSpaceResidual[T](a, x), 30, "%s: least norm", what)
	}
}

func testQRSolve[T la.Element](t *testing.T) {
	rnd := rand.New(rand.NewPCG(6, 4))
	for engine, e := range sorted.Map(engines(t)) {
		for _, opt := range []la.QROptions{{}, {Tree: qr.TreeGreedy}} {
			for _, s := range [][2]int{{0, 0}, {4, 0}, {0, 4}, {1, 1}, {5, 5}, {6, 6}, {16, 16}, {16, 5}, {23, 11}, {11, 23}, {5, 16}, {40, 1}, {1, 40}} {
				m, n := s[0], s[1]
				q, a := factoredQR[T](t, e, opt, matgen.Spec{Kind: matgen.Cond, M: m, N: n, Cond: 50, Seed: 5})
				for _, trans := range []bool{false, true} {
					op := a
					if trans {
						op = a.t()
					}
					for _, nrhs := range []int{0, 1, 2, 7} {
						what := fmt.Sprintf("%s: %+v, %d×%d, trans %v, nrhs %d", engine, opt, m, n, trans, nrhs)
						b, x := random[T](rnd, op.m, nrhs, 1), padded[T](op.n, nrhs, 2)
						x0, b0 := clone(x), clone(b)
						if err := q.SolveTo(x, trans, b); err != nil {
							t.Fatalf("%s: %v", what, err)
						}
						unchanged(t, what, x, x0, everywhere)
						unchanged(t, what, b, b0, nil)
						checkSolution[T](t, what, op, load[T](x, blas.NoTrans), load[T](b, blas.NoTrans))
						if m == n && nrhs > 0 && n > 0 { // in place
							if err := q.SolveTo(b, trans, b); err != nil || bits(b.At(n-1, 0)) != bits(x.At(n-1, 0)) {
								t.Errorf("%s: in place: %v", what, err)
							}
						}
					}
					b, x := make(la.Vector[T], op.m), make(la.Vector[T], op.n)
					for i := range b {
						b[i] = T(rnd.NormFloat64())
					}
					if err := q.SolveVecTo(x, trans, b); err != nil {
						t.Fatal(err)
					}
					vector := func(v la.Vector[T]) dense {
						return newDense(len(v), 1, func(i, _ int) float64 { return float64(v[i]) })
					}
					checkSolution[T](t, fmt.Sprintf("%s: %+v, %d×%d, trans %v, vector", engine, opt, m, n, trans), op, vector(x), vector(b))
				}
			}
		}
	}
}

func TestQRSolve(t *testing.T) {
	t.Run("f64", testQRSolve[float64])
	t.Run("f32", testQRSolve[float32])
}

// TestQRSolveGonum solves into gonum's matrices, and compares with gonum.
func TestQRSolveGonum(t *testing.T) {
	const m, n = 19, 12
	for engine, e := range engines(t) {
		tall, a := factoredQR[float64](t, e, la.QROptions{}, matgen.Spec{Kind: matgen.Random, M: m, N: n})
		wide, _ := factoredQR[float64](t, e, la.QROptions{}, matgen.Spec{Kind: matgen.Random, M: n, N: m, Seed: 7})
		var gonum mat.QR
		gonum.Factorize(mat.NewDense(m, n, a.x))
		for _, trans := range []bool{false, true} {
			rows, cols := m, n
			if trans {
				rows, cols = n, m
			}
			b := mat.NewDense(rows, 3, nil)
			b.Apply(func(i, j int, _ float64) float64 { return math.Sin(float64(i*i + 7*j)) }, b)
			var x, want mat.Dense
			if err := errors.Join(tall.SolveTo(&x, trans, b), gonum.SolveTo(&want, trans, b)); err != nil {
				t.Fatal(err)
			}
			if r, c := x.Dims(); r != cols || c != 3 {
				t.Errorf("%s: an empty solution became %d×%d", engine, r, c)
			}
			var diff mat.Dense
			diff.Sub(&x, &want)
			if d := mat.Norm(&diff, 1) / mat.Norm(&want, 1); !(d < 1e-12) {
				t.Errorf("%s: trans %v: differs from gonum by %g", engine, trans, d)
			}
			var v mat.VecDense
			if err := tall.SolveVecTo(&v, trans, b.ColView(1)); err != nil || v.Len() != cols || math.Abs(v.AtVec(0)-x.At(0, 1)) > 1e-12 {
				t.Errorf("%s: trans %v: vector: %v", engine, trans, err)
			}
		}
		var shape *la.ShapeError
		for name, err := range map[string]error{
			"rows of b":         tall.SolveTo(&mat.Dense{}, false, mat.NewDense(n, 2, nil)),
			"rows of b, trans":  tall.SolveTo(&mat.Dense{}, true, mat.NewDense(m, 2, nil)),
			"rows of b, wide":   wide.SolveTo(&mat.Dense{}, false, mat.NewDense(m, 2, nil)),
			"dst":               tall.SolveTo(mat.NewDense(n, 3, nil), false, mat.NewDense(m, 2, nil)),
			"dst, wide":         wide.SolveTo(mat.NewDense(n, 2, nil), false, mat.NewDense(n, 2, nil)),
			"vector b":          tall.SolveVecTo(&mat.VecDense{}, false, mat.NewVecDense(n, nil)),
			"vector dst":        tall.SolveVecTo(mat.NewVecDense(n+1, nil), false, mat.NewVecDense(m, nil)),
			"vector dst, trans": tall.SolveVecTo(mat.NewVecDense(n, nil), true, mat.NewVecDense(n, nil)),
		} {
			if !errors.As(err, &shape) {
				t.Errorf("%s: %s: %v, want a ShapeError", engine, name, err)
			}
		}
	}
}

// TestQRSolveVec: one right-hand side has the solution that it has as a matrix, on either way, and the same errors.
func TestQRSolveVec(t *testing.T) {
	rnd := rand.New(rand.NewPCG(23, 24))
	for _, s := range [][2]int{{300, 200}, {333, 65}, {130, 130}, {90, 130}} {
		m, n := s[0], s[1]
		a := mat.NewDense(m, n, nil)
		a.Apply(func(int, int, float64) float64 { return rnd.NormFloat64() }, a)
		q := la.NewQR[float64](engineOf(t, la.Options{Workers: 2, NB: 48}))
		for _, deficient := range []bool{false, true} {
			if deficient {
				for i := range m {
					a.Set(i, min(m, n)-1, a.At(i, 0))
				}
				for j := range n {
					a.Set(min(m, n)-1, j, a.At(0, j))
				}
			}
			if err := q.Factorize(a); err != nil {
				t.Fatal(err)
			}
			for _, trans := range []bool{false, true} {
				rows := m
				if trans {
					rows = n
				}
				b := mat.NewDense(rows, 1, nil)
				b.Apply(func(int, int, float64) float64 { return rnd.NormFloat64() }, b)
				var want mat.Dense
				var v, diff mat.VecDense
				err, wantErr := q.SolveVecTo(&v, trans, b.ColView(0)), q.SolveTo(&want, trans, b)
				if deficient || err != nil || wantErr != nil {
					var c mat.Condition
					if !deficient || !errors.As(err, &c) || !errors.As(wantErr, &c) {
						t.Errorf("%d×%d, trans %v: errors %v and %v, deficient: %v", m, n, trans, err, wantErr, deficient)
					}
					continue
				}
				diff.SubVec(&v, want.ColView(0))
				if d := diff.Norm(2) / v.Norm(2); !(d < 1e-11) {
					t.Errorf("%d×%d, trans %v: differs from SolveTo by %g", m, n, trans, d)
				}
				b.Set(rows/2, 0, math.NaN())
				if err := q.SolveVecTo(&v, trans, b.ColView(0)); err != nil || !math.IsNaN(v.Norm(2)) {
					t.Errorf("%d×%d, trans %v: with NaN the norm is %v, error %v", m, n, trans, v.Norm(2), err)
				}
			}
		}
	}
}

// TestQRWideConcurrent has many goroutines ask for the first solution of a wide
// system.
func TestQRWideConcurrent(t *testing.T) {
	q, a := factoredQR[float64](t, start(t, la.Options{Workers: 2, NB: 5, Direct: -1}), la.QROptions{}, matgen.Spec{Kind: matgen.Random, M: 11, N: 27})
	b := random[float64](rand.New(rand.NewPCG(6, 6)), 11, 2, 0)
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			if i == 0 {
				q.Cond()
				return
			}
			x := padded[float64](27, 2, 0)
			if err := q.SolveTo(x, false, b); err != nil {
				t.Error(err)
			}
			checkSolution[float64](t, "at once", a, load[float64](x, blas.NoTrans), load[float64](b, blas.NoTrans))
		})
	}
	all.Wait()
}

// TestQRSolveMany has more right-hand sides than unknowns.
func TestQRSolveMany(t *testing.T) {
	rnd := rand.New(rand.NewPCG(6, 3))
	for _, opt := range []la.Options{{Workers: 2}, {Workers: 2, Direct: -1}, {Workers: 2, NB: 32}} {
		e := start(t, opt)
		for _, s := range [][3]int{{100, 60, 300}, {200, 200, 3}, {3, 2, 300}, {60, 129, 130}} {
			q, a := factoredQR[float64](t, e, la.QROptions{}, matgen.Spec{Kind: matgen.Cond, M: s[0], N: s[1], Cond: 10})
			b, x := blocked.New[float64](blocked.Full, s[0], s[2], 16), blocked.New[float64](blocked.Full, s[1], s[2], 16)
			for i := range s[0] {
				for j := range s[2] {
					b.Set(i, j, rnd.NormFloat64())
				}
			}
			if err := q.SolveTo(x, false, b); err != nil {
				t.Fatal(err)
			}
			checkSolution[float64](t, fmt.Sprint(s), a, load[float64](x, blas.NoTrans), load[float64](b, blas.NoTrans))
		}
	}
}

// TestQRSingular checks that solving with a matrix of deficient rank says so.
func TestQRSingular(t *testing.T) {
	for engine, e := range engines(t) {
		for _, kind := range []matgen.Kind{matgen.FirstColumnZero, matgen.LastColumnZero, matgen.LastHalfZero} {
			for _, s := range [][2]int{{12, 12}, {23, 12}} {
				q, _ := factoredQR[float64](t, e, la.QROptions{}, matgen.Spec{Kind: kind, M: s[0], N: s[1]})
				x := padded[float64](s[1], 2, 1)
				x0 := clone(x)
				err := q.SolveTo(x, false, random[float64](rand.New(rand.NewPCG(6, 7)), s[0], 2, 0))
				if c, ok := err.(mat.Condition); !ok {
					t.Errorf("%s: %v, %v: %v, want a condition", engine, kind, s, err)
				} else if math.IsInf(float64(c), 1) {
					unchanged(t, kind.String(), x, x0, nil)
				}
				if c := q.Cond(); !(c > 1e15) {
					t.Errorf("%s: %v, %v: condition %g", engine, kind, s, c)
				}
			}
		}
		// Zeros everywhere, exactly.
		q := la.NewQR[float64](e)
		if err := q.Factorize(mat.NewDense(7, 7, nil)); err != nil {
			t.Fatal(err)
		}
		x := padded[float64](7, 1, 0)
		x0 := clone(x)
		if c, ok := q.SolveTo(x, true, mat.NewDense(7, 1, nil)).(mat.Condition); !ok || !math.IsInf(float64(c), 1) {
			t.Errorf("%s: zero: condition %g", engine, c)
		}
		unchanged(t, "zero", x, x0, nil)
		if log, sign := q.LogDet(); !math.IsInf(log, -1) || sign != 0 || q.Det() != 0 || !math.IsInf(q.Cond(), 1) {
			t.Errorf("%s: zero: log det %v, %v; condition %v", engine, log, sign, q.Cond())
		}
		// A condition of 1e20 which is that of the rows: a solution is there all the same.
		d := mat.NewDense(11, 11, nil)
		for i := range 11 {
			for j := i; j < 11; j++ {
				d.Set(i, j, math.Pow(100, -float64(i)))
			}
		}
		if err := q.Factorize(d); err != nil {
			t.Fatal(err)
		}
		var y mat.Dense
		c, ok := q.SolveTo(&y, false, d).(mat.Condition)
		if !ok || !(float64(c) > 1e15 && float64(c) < 1e22) || math.Abs(y.At(10, 10)-1) > 1e-14 {
			t.Errorf("%s: condition %v of 1e20", engine, c)
		}
		if got := q.Cond(); !(got > 1e20 && got < 1e22) {
			t.Errorf("%s: estimated condition %g of 1e20", engine, got)
		}
	}
}

// TestQRCondOnce: estimates of what is in memory here are no tasks, nor does the second make another
// factorization of a matrix that is wider than high.
func TestQRCondOnce(t *testing.T) {
	recorder := new(trace.Recorder)
	e := start(t, la.Options{Workers: 2, NB: 5, Direct: -1, Trace: recorder})
	for _, s := range [][2]int{{23, 12}, {12, 23}} {
		q, _ := factoredQR[float64](t, e, la.QROptions{}, matgen.Spec{Kind: matgen.Cond, M: s[0], N: s[1], Cond: 10, Seed: 2})
		var x mat.Dense
		if err := q.SolveTo(&x, false, mat.NewDense(s[0], 1, nil)); err != nil { // makes it
			t.Fatal(err)
		}
		work := func() float64 {
			before := recorder.Counts().Work
			q.Cond()
			return recorder.Counts().Work - before
		}
		if first, second := work(), work(); first != 0 || second != 0 {
			t.Errorf("%v: work of %v at first, then %v", s, first, second)
		}
	}
}

// TestQRCond compares the estimate with ‖R‖₁·‖R⁻¹‖₁.
func TestQRCond(t *testing.T) {
	for engine, e := range engines(t) {
		for _, cond := range []float64{1, 10, 1e5} {
			for _, s := range [][2]int{{1, 1}, {6, 6}, {23, 12}, {12, 23}} {
				q, a := factoredQR[float64](t, e, la.QROptions{}, matgen.Spec{Kind: matgen.Cond, M: s[0], N: s[1], Cond: cond, Seed: 2})
				k := min(s[0], s[1])
				got := q.Cond()
				// The singular values of R are those of A.
				if !(got >= cond/float64(k)/3 && got <= cond*float64(k)*1.001) && k > 1 {
					t.Errorf("%s: %v: estimate %.4g for singular values of ratio %.4g", engine, s, got, cond)
				}
				if s[0] < s[1] {
					continue
				}
				var r, inv mat.Dense
				q.RTo(&r)
				if err := inv.Inverse(r.Slice(0, k, 0, k)); err != nil {
					t.Fatal(err)
				}
				want := mat.Norm(r.Slice(0, k, 0, k), 1) * mat.Norm(&inv, 1)
				if !(got <= want*1.001 && got >= want/3) {
					t.Errorf("%s: %v of %d elements: estimate %.4g of %.4g", engine, s, len(a.x), got, want)
				}
			}
		}
		q, _ := factoredQR[float64](t, e, la.QROptions{}, matgen.Spec{Kind: matgen.Random, M: 5})
		if q.Cond() != 0 {
			t.Errorf("%s: nothing has condition %v", engine, q.Cond())
		}
	}
}

// TestQRDet compares determinants with those that gonum finds, and with known
// ones.
func TestQRDet(t *testing.T) {
	for engine, e := range engines(t) {
		for _, opt := range qrOptions() {
			for _, kind := range []matgen.Kind{matgen.Random, matgen.Diagonal, matgen.Upper, matgen.Lower, matgen.Identity, matgen.Wilkinson} {
				for _, n := range []int{0, 1, 2, 5, 6, 12, 23} {
					q, a := factoredQR[float64](t, e, opt, matgen.Spec{Kind: kind, M: n, N: n, Seed: uint64(n)})
					want, sign := 0.0, 1.0
					if n > 0 {
						want, sign = mat.LogDet(mat.NewDense(n, n, a.x))
					}
					log, s := q.LogDet()
					if s != sign || !(math.Abs(log-want) <= 1e-11*(1+math.Abs(want))) {
						t.Errorf("%s: %+v, %v, n %d: log det %v, %v; want %v, %v", engine, opt, kind, n, log, s, want, sign)
					}
					if d := q.Det(); math.Abs(d-s*math.Exp(log)) > 1e-12*math.Abs(d) {
						t.Errorf("%s: %v, n %d: det %v", engine, kind, n, d)
					}
				}
			}
		}
		q, _ := factoredQR[float64](t, e, la.QROptions{}, matgen.Spec{Kind: matgen.Random, M: 3, N: 2})
		if v := panics(func() { q.Det() }); v != mat.ErrSquare {
			t.Errorf("%s: the determinant of a 3×2 matrix panics with %v", engine, v)
		}
	}
}
