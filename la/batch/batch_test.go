package batch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tessera-la/tessera/la"
	"go.uber.org/goleak"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// forms are the ways to lay matrices out: one after the other, with gaps, and by slices.
const forms = 3

// newMatrices returns matrices in a form, of elements that at returns. Gaps are NaN.
func newMatrices[T la.Element](form, count, rows, cols int, at func(k, i, j int) T) Matrices[T] {
	a := Matrices[T]{Count: count, Rows: rows, Cols: cols}
	if form > 0 {
		a.Stride = cols + 1
		a.Step = rows*a.Stride + 2
	}
	must(a.complete("test", "a"), false) // it has no memory yet
	a.Data = make([]T, count*a.Step)
	for i := range a.Data {
		a.Data[i] = T(math.NaN())
	}
	for k := range count {
		for i := range rows {
			for j := range cols {
				a.Data[k*a.Step+i*a.Stride+j] = at(k, i, j)
			}
		}
	}
	if form == 2 {
		for k := range count {
			a.Each = append(a.Each, slices.Clone(a.Data[k*a.Step:(k+1)*a.Step]))
		}
		a.Data, a.Step = nil, 0
	}
	return a
}

// must panics for an error unless there is a reason for one.
func must(err error, reason bool) {
	if err != nil && reason {
		panic(err)
	}
}

func clone[T la.Element](a Matrices[T]) Matrices[T] {
	a.Data = slices.Clone(a.Data)
	a.Each = slices.Clone(a.Each)
	for i, x := range a.Each {
		a.Each[i] = slices.Clone(x)
	}
	return a
}

// dense returns matrix k in float64.
func dense[T la.Element](a Matrices[T], k int) *mat.Dense {
	must(a.complete("test", "a"), true)
	d := mat.NewDense(a.Rows, a.Cols, nil)
	for i := range a.Rows {
		for j := range a.Cols {
			d.Set(i, j, float64(a.at(k)[i*a.Stride+j]))
		}
	}
	return d
}

// system returns positive definite matrices, others, matrices of twice as many rows, and right sides.
func system[T la.Element](rnd *rand.Rand, form, count, n, nrhs int) (spd, a, tall, b, high Matrices[T]) {
	random := func(k, i, j int) T { return T(rnd.Float64() - .5) }
	low := newMatrices(0, count, n, n, random)
	spd = newMatrices(form, count, n, n, func(k, i, j int) T {
		s := T(low.Data[k*n*n+max(i, j)*n+min(i, j)])
		if i == j {
			s = T(n) + s*s
		}
		return s
	})
	a = newMatrices(form, count, n, n, random)
	tall = newMatrices(form, count, 2*n, n, func(k, i, j int) T {
		if i == j {
			return 2
		}
		return random(k, i, j)
	})
	b, high = newMatrices(form, count, n, nrhs, random), newMatrices(form, count, 2*n, nrhs, random)
	return spd, a, tall, b, high
}

// check reports an error if ‖Aᵀ·(A·X − B)‖ or ‖A·X − B‖ is not small.
func check[T la.Element](t *testing.T, what string, eps float64, a, x, b Matrices[T]) {
	t.Helper()
	for k := range a.Count {
		da, db := dense(a, k), dense(b, k)
		dx := dense(x, k).Slice(0, a.Cols, 0, b.Cols).(*mat.Dense)
		var r mat.Dense
		r.Mul(da, dx)
		r.Sub(&r, db)
		scale := mat.Norm(da, 2)*mat.Norm(dx, 2) + mat.Norm(db, 2)
		if a.Rows > a.Cols {
			full := mat.DenseCopyOf(&r)
			r.Reset()
			r.Mul(da.T(), full)
			scale *= mat.Norm(da, 2)
		}
		if v := mat.Norm(&r, 2) / (scale * eps * float64(a.Rows)); !(v < 20) {
			t.Fatalf("%s: problem %d has a scaled residual of %v", what, k, v)
		}
	}
}

// TestBatch: all routines have small residuals for all shapes around those of vectors, and gaps stay NaN. Factorizations and
// their solutions agree with what does both.
func TestBatch(t *testing.T) {
	t.Run("float64", func(t *testing.T) { testBatch[float64](t, 0x1p-53) })
	t.Run("float32", func(t *testing.T) { testBatch[float32](t, 0x1p-24) })
}

func testBatch[T la.Element](t *testing.T, eps float64) {
	ctx := context.Background()
	rnd := rand.New(rand.NewPCG(1, 2))
	e, err := la.NewEngine(la.Options{Workers: 2, Float: true})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, n := range []int{1, 2, 3, 4, 5, 8, 9, 17, 32, 33, 40} {
		for _, count := range []int{1, 8, 21} {
			for form := range forms {
				nrhs := 1 + rnd.IntN(3)
				what := func(name string) string { return fmt.Sprintf("%s, %d of order %d, form %d", name, count, n, form) }
				spd, a, tall, b, high := system[T](rnd, form, count, n, nrhs)
				ok := func(name string, errs ...error) {
					t.Helper()
					if err := errors.Join(errs...); err != nil {
						t.Fatalf("%s: %v", what(name), err)
					}
				}

				f, x, y := clone(spd), clone(b), clone(b)
				ok("SolveSPD", SolveSPD(ctx, e, clone(spd), x))
				check(t, what("SolveSPD"), eps, spd, x, b)
				ok("Cholesky", Cholesky(ctx, e, f), CholeskySolve(ctx, e, f, y))
				same(t, what("CholeskySolve"), n, x, y)

				pivots := make([]int, count*n)
				f, x, y = clone(a), clone(b), clone(b)
				ok("Solve", Solve(ctx, nil, clone(a), x))
				check(t, what("Solve"), eps*float64(1+n)*10, a, x, b)
				ok("LU", LU(ctx, e, f, pivots), LUSolve(ctx, e, f, pivots, y))
				same(t, what("LUSolve"), n, x, y)

				tau := make([]T, count*n)
				f, x, y = clone(tall), clone(high), clone(high)
				ok("LeastSquares", LeastSquares(ctx, nil, clone(tall), x))
				check(t, what("LeastSquares"), eps, tall, x, high)
				ok("QR", QR(ctx, e, f, tau), QRSolve(ctx, e, f, tau, y))
				same(t, what("QRSolve"), n, x, y)

				c := clone(b)
				ok("Gemm", Gemm(ctx, e, blas.Trans, blas.NoTrans, 2, a, b, 3, c))
				for k := range count {
					var want, three mat.Dense
					want.Mul(dense(a, k).T(), dense(b, k))
					want.Scale(2, &want)
					three.Scale(3, dense(b, k))
					want.Add(&want, &three)
					if !mat.EqualApprox(&want, dense(c, k), 30*eps*float64(n+3)) {
						t.Fatalf("%s: problem %d is wrong", what("Gemm"), k)
					}
				}
				for _, m := range []Matrices[T]{x, f, c} {
					gaps(t, what("gaps"), m)
				}
			}
		}
	}
}

// same checks that the first rows of x and y have the same bits.
func same[T la.Element](t *testing.T, what string, rows int, x, y Matrices[T]) {
	t.Helper()
	must(x.complete("test", "x"), true)
	for k := range x.Count {
		for i := range rows {
			for j := range x.Cols {
				if a, b := x.at(k)[i*x.Stride+j], y.at(k)[i*x.Stride+j]; a != b {
					t.Fatalf("%s: problem %d has %v at (%d, %d), and %v by one call", what, k, b, i, j, a)
				}
			}
		}
	}
}

// gaps checks that what is between the rows is still NaN.
func gaps[T la.Element](t *testing.T, what string, a Matrices[T]) {
	t.Helper()
	must(a.complete("test", "a"), true)
	for k := range a.Count {
		for i := range a.Rows - 1 {
			for j := a.Cols; j < a.Stride; j++ {
				if v := a.at(k)[i*a.Stride+j]; v == v {
					t.Fatalf("%s: problem %d has %v behind row %d", what, k, v, i)
				}
			}
		}
	}
}

// TestFailures: problems without a result are named, with the errors of package la, and change no other problem's bits.
func TestFailures(t *testing.T) {
	ctx := context.Background()
	for _, n := range []int{3, 40} {
		spd, a, tall, b, high := system[float64](rand.New(rand.NewPCG(3, 4)), 0, 20, n, 1)
		wantSPD, want, wantTall := clone(b), clone(b), clone(high)
		if err := errors.Join(SolveSPD(ctx, nil, clone(spd), wantSPD), Solve(ctx, nil, clone(a), want), LeastSquares(ctx, nil, clone(tall), wantTall)); err != nil {
			t.Fatal(err)
		}
		for _, k := range []int{4, 19} {
			spd.Data[k*n*n+n+1] = -1
			tall.Data[k*2*n*n] = math.NaN()
			for i := range n {
				a.Data[k*n*n+i*n+2] = 0
			}
		}
		for i := range 2 * n {
			tall.Data[7*2*n*n+i*n+1] = 0
		}
		x, y, z := clone(b), clone(b), clone(high)
		for name, c := range map[string]struct {
			err       error
			want, got Matrices[float64]
			failed    []int
			text      string
		}{
			"SolveSPD":     {SolveSPD(ctx, nil, spd, x), wantSPD, x, []int{4, 19}, "batch: 2 problems failed; problem 4: matrix is not positive definite: the leading minor of order 2 is not"},
			"Solve":        {Solve(ctx, nil, a, y), want, y, []int{4, 19}, "batch: 2 problems failed; problem 4: " + (&la.SingularError{Column: 3}).Error()[4:]},
			"LeastSquares": {LeastSquares(ctx, nil, tall, z), wantTall, z, []int{7}, "batch: problem 7: " + (&la.SingularError{Column: 2}).Error()[4:]},
		} {
			failed, ok := errors.AsType[*Error](c.err)
			if !ok || c.err.Error() != c.text {
				t.Fatalf("%s, n = %d: error %v, want %s", name, n, c.err, c.text)
			}
			for k := range 20 {
				if bad := slices.Contains(c.failed, k); bad != (failed.Of(k) != nil) {
					t.Errorf("%s, n = %d: problem %d: error %v", name, n, k, failed.Of(k))
				} else if !bad && !(name == "LeastSquares" && (k == 4 || k == 19)) {
					for i := range n {
						if v, w := c.got.Data[k*c.got.Rows+i], c.want.Data[k*c.want.Rows+i]; v != w {
							t.Fatalf("%s, n = %d: problem %d has %v, and %v without the others", name, n, k, v, w)
						}
					}
				}
			}
		}
	}
}

// TestShapes: operands that do not fit are errors, and are not touched.
func TestShapes(t *testing.T) {
	ctx := context.Background()
	m := func(count, rows, cols, elements int) Matrices[float64] {
		return Matrices[float64]{Count: count, Rows: rows, Cols: cols, Data: make([]float64, elements)}
	}
	for name, err := range map[string]error{
		"short":       Cholesky(ctx, nil, m(3, 2, 2, 11)),
		"not square":  Cholesky(ctx, nil, m(3, 2, 3, 18)),
		"right side":  Solve(ctx, nil, m(2, 2, 2, 8), m(2, 3, 1, 6)),
		"count":       SolveSPD(ctx, nil, m(2, 2, 2, 8), m(3, 2, 1, 6)),
		"wide":        LeastSquares(ctx, nil, m(2, 2, 3, 12), m(2, 2, 1, 4)),
		"product":     Gemm(ctx, nil, blas.NoTrans, blas.NoTrans, 1, m(1, 2, 2, 4), m(1, 3, 2, 6), 0, m(1, 2, 2, 4)),
		"slices":      Cholesky(ctx, nil, Matrices[float64]{Count: 2, Rows: 1, Cols: 1, Each: [][]float64{{1}}}),
		"short slice": Cholesky(ctx, nil, Matrices[float64]{Count: 1, Rows: 2, Cols: 2, Each: [][]float64{{1, 0, 0}}}),
		"far apart":   Cholesky(ctx, nil, Matrices[float64]{Count: 5, Rows: 2, Cols: 2, Step: math.MaxInt/4 + 1, Data: make([]float64, 9)}),
		"long rows":   Cholesky(ctx, nil, Matrices[float64]{Count: 1, Rows: 5, Cols: 5, Stride: math.MaxInt/2 + 1, Data: make([]float64, 9)}),
		"pivot":       LUSolve(ctx, nil, m(1, 2, 2, 4), []int{0, 2}, m(1, 2, 1, 2)),
		"transposed":  Gemm(ctx, nil, 0, blas.NoTrans, 1, m(1, 2, 2, 4), m(1, 2, 2, 4), 0, m(1, 2, 2, 4)),
		"stride":      Cholesky(ctx, nil, Matrices[float64]{Count: 1, Rows: 2, Cols: 2, Stride: 1, Data: make([]float64, 9)}),
	} {
		if _, ok := errors.AsType[*la.ShapeError](err); !ok {
			t.Errorf("%s: error %v", name, err)
		}
	}
	done, cancel := context.WithCancel(ctx)
	cancel()
	if err := Cholesky(done, nil, m(1, 1, 1, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v", err)
	}
	if err := Cholesky(ctx, nil, m(0, 3, 3, 0)); err != nil {
		t.Error(err)
	}
	// Matrices without elements need no memory, whatever their stride and step.
	empty := Matrices[float64]{Count: 3, Rows: 2, Stride: 4}
	if err := Gemm(ctx, nil, blas.NoTrans, blas.Trans, 1, empty, empty, 0, m(3, 2, 2, 12)); err != nil {
		t.Error(err)
	}
}

// BenchmarkBatch compares 10,000 problems with a loop over gonum's types, in turns, and reports the medians.
//
//	go test ./la/batch -run '^$' -bench Batch -benchtime 5x
func BenchmarkBatch(b *testing.B) {
	ctx := context.Background()
	for _, n := range []int{4, 8, 16, 32, 64} {
		count := 10000
		if n == 64 {
			count = 2000
		}
		spd, a, tall, right, high := system[float64](rand.New(rand.NewPCG(1, 2)), 0, count, n, 1)
		c := clone(a)
		sym := func(k int) *mat.SymDense { return mat.NewSymDense(n, spd.Data[k*n*n:(k+1)*n*n]) }
		full := func(k int) *mat.Dense { return mat.NewDense(n, n, a.Data[k*n*n:(k+1)*n*n]) }
		vector := func(k int) *mat.VecDense { return mat.NewVecDense(n, right.Data[k*n:(k+1)*n]) }
		pivots, tau := make([]int, count*n), make([]float64, count*n)
		var chol mat.Cholesky
		var lu mat.LU
		var qr mat.QR
		var x mat.VecDense
		for _, op := range []struct {
			name  string
			gonum func(k int)
			ours  func(f, r Matrices[float64]) error
			of    Matrices[float64]
			b     Matrices[float64]
		}{
			{"gemm", func(k int) { mat.NewDense(n, n, c.Data[k*n*n:(k+1)*n*n]).Mul(full(k), full(k)) },
				func(f, _ Matrices[float64]) error { return Gemm(ctx, nil, blas.NoTrans, blas.NoTrans, 1, a, a, 0, f) }, a, right},
			{"cholesky", func(k int) { chol.Factorize(sym(k)) }, func(f, _ Matrices[float64]) error { return Cholesky(ctx, nil, f) }, spd, right},
			{"lu", func(k int) { lu.Factorize(full(k)) }, func(f, _ Matrices[float64]) error { return LU(ctx, nil, f, pivots) }, a, right},
			{"qr", func(k int) { qr.Factorize(full(k)) }, func(f, _ Matrices[float64]) error { return QR(ctx, nil, f, tau) }, a, right},
			{"solvespd", func(k int) { chol.Factorize(sym(k)); must(chol.SolveVecTo(&x, vector(k)), true) },
				func(f, r Matrices[float64]) error { return SolveSPD(ctx, nil, f, r) }, spd, right},
			{"solve", func(k int) { must(x.SolveVec(full(k), vector(k)), false) },
				func(f, r Matrices[float64]) error { return Solve(ctx, nil, f, r) }, a, right},
			{"leastsquares", func(k int) {
				must(x.SolveVec(mat.NewDense(2*n, n, tall.Data[k*2*n*n:(k+1)*2*n*n]), mat.NewVecDense(2*n, high.Data[k*2*n:(k+1)*2*n])), false)
				x.Reset()
			}, func(f, r Matrices[float64]) error { return LeastSquares(ctx, nil, f, r) }, tall, high},
		} {
			b.Run(fmt.Sprintf("%s/n=%d", op.name, n), func(b *testing.B) {
				f, r := clone(op.of), clone(op.b)
				var theirs, mine []float64
				for b.Loop() {
					x.Reset()
					begin := time.Now()
					for k := range count {
						op.gonum(k)
					}
					theirs = append(theirs, float64(time.Since(begin).Nanoseconds())/float64(count))
					copy(f.Data, op.of.Data)
					copy(r.Data, op.b.Data)
					begin = time.Now()
					if err := op.ours(f, r); err != nil {
						b.Fatal(err)
					}
					mine = append(mine, float64(time.Since(begin).Nanoseconds())/float64(count))
				}
				slices.Sort(theirs)
				slices.Sort(mine)
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(theirs[len(mine)/2], "gonum-ns")
				b.ReportMetric(mine[len(mine)/2], "batch-ns")
				b.ReportMetric(theirs[len(mine)/2]/mine[len(mine)/2], "×")
			})
		}
	}
}
