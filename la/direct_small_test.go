package la_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// smallSystem is a system and a least-squares problem of order n, and calls with them on e.
type smallSystem[T la.Element] struct {
	spd        la.Symmetric[T]
	a, tall, b la.General[T]
	tallB      la.General[T]
}

func newSmallSystem[T la.Element](rnd *rand.Rand, n, nrhs int, uplo blas.Uplo) smallSystem[T] {
	s := smallSystem[T]{a: random[T](rnd, n, n, 3), tall: random[T](rnd, 2*n, n, 1), b: random[T](rnd, n, nrhs, 2),
		tallB: random[T](rnd, 2*n, nrhs, 0), spd: la.Symmetric[T]{Uplo: uplo, N: n, Stride: n + 1, Data: make([]T, n*(n+1))}}
	for i := range s.spd.Data {
		s.spd.Data[i] = T(math.NaN()) // of which the other triangle remains
	}
	for i := range n {
		s.a.Set(i, i, s.a.At(i, i)+T(n))
		s.tall.Set(i, i, s.tall.At(i, i)+T(n))
		for j := range i + 1 {
			v := T(rnd.Float64())
			if i == j {
				v = T(2 * n)
			}
			s.spd.SetSym(i, j, v)
		}
	}
	return s
}

// calls returns the name and the solution, or the error, of each call.
func (s smallSystem[T]) calls(e *la.Engine) (names []string, all []la.General[T], errs []error) {
	n, nrhs := s.b.Dims()
	add := func(name string, rows, cols int, call func(x la.General[T]) error) {
		x := la.General[T]{Rows: rows, Cols: cols, Stride: cols + 1, Data: make([]T, rows*(cols+1))}
		for i := range x.Data {
			x.Data[i] = -7
		}
		errs = append(errs, call(x))
		names, all = append(names, name), append(all, x)
	}
	ctx := context.Background()
	chol, lu, qr, ls := la.NewCholesky[T](e), la.NewLU[T](e), la.NewQR[T](e), la.NewQR[T](e)
	factors := map[string]error{"chol": chol.Factorize(s.spd), "lu": lu.Factorize(s.a), "qr": qr.Factorize(s.a), "ls": ls.Factorize(s.tall)}
	with := func(name string, empty bool, call func(x la.General[T]) error) func(x la.General[T]) error {
		return func(x la.General[T]) error {
			if empty {
				return factors[name]
			}
			return errors.Join(factors[name], call(x))
		}
	}
	add("Mul", n, nrhs, func(x la.General[T]) error { return la.Mul[T](x, s.a, s.b) })
	add("Gemm", n, nrhs, func(x la.General[T]) error {
		return la.Gemm[T](ctx, e, blas.Trans, blas.NoTrans, 2, s.a, s.b, 3, x)
	})
	add("MulVec", n, 1, func(x la.General[T]) error {
		y := make(la.Vector[T], n)
		err := la.Gemv[T](ctx, e, blas.Trans, 2, s.a, column(s.b, 0), 0, y)
		for i, v := range y {
			x.Set(i, 0, v)
		}
		return err
	})
	add("Cholesky", n, nrhs, with("chol", chol.IsEmpty(), func(x la.General[T]) error { return chol.SolveTo(x, s.b) }))
	add("LU", n, nrhs, with("lu", lu.IsEmpty(), func(x la.General[T]) error { return lu.SolveTo(x, false, s.b) }))
	add("LU, transposed", n, nrhs, with("lu", lu.IsEmpty(), func(x la.General[T]) error { return lu.SolveTo(x, true, s.b) }))
	add("QR", n, nrhs, with("qr", qr.IsEmpty(), func(x la.General[T]) error { return qr.SolveTo(x, false, s.b) }))
	add("QR, tall", n, nrhs, with("ls", ls.IsEmpty(), func(x la.General[T]) error { return ls.SolveTo(x, false, s.tallB) }))
	add("Solve", n, nrhs, func(x la.General[T]) error { _, err := la.Solve[T](ctx, e, x, s.a, s.b); return err })
	add("Solve, symmetric", n, nrhs, func(x la.General[T]) error { _, err := la.Solve[T](ctx, e, x, s.spd, s.b); return err })
	add("LeastSquares", n, nrhs, func(x la.General[T]) error { return la.LeastSquares[T](ctx, e, x, s.tall, s.tallB) })
	add("Inverse", n, n, with("chol", chol.IsEmpty(), func(x la.General[T]) error {
		v := la.Symmetric[T]{Uplo: blas.Upper, N: n, Stride: n + 1, Data: x.Data}
		return chol.InverseTo(v)
	}))
	add("EigenSym", n, 1, func(x la.General[T]) error {
		c := la.NewEigenSym[T](e)
		if err := c.Factorize(s.spd, true); err != nil {
			return err
		}
		for i, v := range c.Values(nil)[:n] {
			x.Set(i, 0, v)
		}
		return nil
	})
	add("SVD", n, 1, func(x la.General[T]) error {
		c := la.NewSVD[T](e)
		if err := c.Factorize(s.a, mat.SVDThin); err != nil {
			return err
		}
		for i, v := range c.Values(nil)[:n] {
			x.Set(i, 0, v)
		}
		return nil
	})
	return names, all, errs
}

// column returns column j of a.
func column[T la.Element](a la.General[T], j int) la.Vector[T] {
	v := make(la.Vector[T], a.Rows)
	for i := range v {
		v[i] = a.At(i, j)
	}
	return v
}

func testSmall[T la.Element](t *testing.T, eps float64) {
	tasks := start(t, la.Options{Workers: 2, Direct: -1, NB: 24, Static: true})
	plain := start(t, la.Options{Workers: 1})
	rnd := rand.New(rand.NewPCG(11, 12))
	for _, n := range []int{1, 2, 3, 4, 5, 6, 7, 10, 11, 16, 20, 21, 33, 64, 65, 97, 129} {
		for _, nrhs := range []int{1, 3} {
			s := newSmallSystem[T](rnd, n, nrhs, []blas.Uplo{blas.Upper, blas.Lower}[nrhs/3])
			_, want, _ := s.calls(tasks)
			names, got, errs := s.calls(nil)
			_, again, _ := s.calls(plain)
			for k, name := range names {
				what := fmt.Sprintf("%s, n = %d, nrhs = %d", name, n, nrhs)
				if errs[k] != nil {
					t.Fatalf("%s: %v", what, errs[k])
				}
				worst, size := 0.0, 0.0
				for i, v := range want[k].Data {
					if v != v || got[k].Data[i] == got[k].Data[i] && v == -7 && got[k].Data[i] != -7 {
						t.Fatalf("%s: element %d is %v, want %v", what, i, got[k].Data[i], v)
					}
					size = max(size, math.Abs(float64(v)))
					worst = max(worst, math.Abs(float64(got[k].Data[i])-float64(v)))
				}
				if !(worst <= 100*eps*float64(n)*size) {
					t.Errorf("%s: differs by %g from what tasks compute", what, worst)
				}
				if n <= 120 && !reflect.DeepEqual(got[k].Data, again[k].Data) { // 2·n rows
					t.Errorf("%s: other bits on an engine", what)
				}
			}
		}
	}
}

// TestSmall: small problems have the results of large ones, whatever the engine, and write nothing else.
func TestSmall(t *testing.T) {
	t.Run("float64", func(t *testing.T) { testSmall[float64](t, 0x1p-53) })
	t.Run("float32", func(t *testing.T) { testSmall[float32](t, 0x1p-24) })
}

// TestSmallErrors: small problems have the errors of large ones, and the same results near the ends of the range.
func TestSmallErrors(t *testing.T) {
	tasks := start(t, la.Options{Workers: 2, Direct: -1, NB: 24, Static: true})
	for name, spoil := range map[string]func(s *smallSystem[float64]){
		"NaN": func(s *smallSystem[float64]) {
			s.a.Set(1, 2, math.NaN())
			s.spd.SetSym(2, 1, math.NaN())
			s.tall.Set(4, 0, math.NaN())
		},
		"∞": func(s *smallSystem[float64]) {
			s.a.Set(2, 0, math.Inf(1))
			s.spd.SetSym(0, 0, math.Inf(1))
			s.tall.Set(0, 2, math.Inf(-1))
		},
		"b": func(s *smallSystem[float64]) { s.b.Set(1, 0, math.NaN()); s.tallB.Set(1, 0, math.Inf(1)) },
		"zero column": func(s *smallSystem[float64]) {
			for i := range 3 {
				s.a.Set(i, 1, 0)
				s.tall.Set(i, 1, 0)
				s.tall.Set(3+i, 1, 0)
				s.spd.SetSym(i, 1, 0)
			}
		},
		"dependent column": func(s *smallSystem[float64]) {
			for i := range 3 {
				s.a.Set(i, 1, s.a.At(i, 0)*3)
				s.tall.Set(i, 1, s.tall.At(i, 2))
				s.tall.Set(3+i, 1, s.tall.At(3+i, 2))
				s.spd.SetSym(i, 1, 1e-30)
			}
		},
		"not definite": func(s *smallSystem[float64]) { s.spd.SetSym(2, 2, -1); s.a.Set(0, 0, 0) },
		"huge":         func(s *smallSystem[float64]) { scaleAll(s, 0x1p1010) },
		"tiny":         func(s *smallSystem[float64]) { scaleAll(s, 0x1p-1060) },
		"overflow":     func(s *smallSystem[float64]) { s.b.Set(0, 0, 1e308); scaleAll(s, 0x1p-30) },
		"shape":        func(s *smallSystem[float64]) { s.b.Rows--; s.tallB.Rows-- },
		"short":        func(s *smallSystem[float64]) { s.a.Set(0, 1, 5); s.b = clone(s.b) },
	} {
		a, b := newSmallSystem[float64](rand.New(rand.NewPCG(1, 2)), 3, 2, blas.Upper), newSmallSystem[float64](rand.New(rand.NewPCG(1, 2)), 3, 2, blas.Upper)
		spoil(&a)
		spoil(&b)
		names, got, errs := a.calls(nil)
		_, want, wants := b.calls(tasks)
		for k, call := range names {
			switch {
			case errs[k] == nil && wants[k] == nil, unsolvable(errs[k]) && unsolvable(wants[k]):
			case errs[k] == nil || wants[k] == nil || errs[k].Error() != wants[k].Error():
				t.Errorf("%s, %s: error %v, and %v by tasks", name, call, errs[k], wants[k])
			}
			for i, v := range want[k].Data {
				if g := got[k].Data[i]; wants[k] == nil && !(math.Abs(g-v) <= 1e-13*math.Abs(v)+1e-13*mat.Norm(mat.NewVecDense(len(want[k].Data), finite(want[k].Data)), 2)) && g == g && !math.IsInf(v, 0) {
					t.Errorf("%s, %s: element %d is %v, and %v by tasks", name, call, i, g, v)
				}
			}
		}
	}
}

// unsolvable reports whether err says that a matrix is singular, be it exactly or but for rounding.
func unsolvable(err error) bool {
	var cond mat.Condition
	var singular *la.SingularError
	return errors.As(err, &cond) || errors.As(err, &singular)
}

// finite returns x with zeros for what is not finite.
func finite(x []float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		if v-v == 0 {
			y[i] = v
		}
	}
	return y
}

// scaleAll multiplies the matrices by s.
func scaleAll(s *smallSystem[float64], by float64) {
	for _, x := range [][]float64{s.a.Data, s.tall.Data, s.spd.Data} {
		for i := range x {
			x[i] *= by
		}
	}
}
