package la_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/internal/sorted"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/versions"
	"go.uber.org/goleak"
	"gonum.org/v1/gonum/mat"
)

// TestSolveErrors goes through what Solve, LeastSquares and Inverse can be
// given wrong.
func TestSolveErrors(t *testing.T) {
	const n = 9
	rnd := rand.New(rand.NewPCG(5, 4))
	for name, e := range sorted.Map(engines(t)) {
		var shape *la.ShapeError
		square, wide := random[float64](rnd, n, n, 0), random[float64](rnd, n, n+3, 0)
		for what, f := range map[string]func() error{
			"b": func() error {
				_, err := la.Solve[float64](t.Context(), e, &mat.Dense{}, square, mat.NewDense(n+1, 1, nil))
				return err
			},
			"dst": func() error {
				_, err := la.Solve[float64](t.Context(), e, mat.NewDense(n, 2, nil), wide, mat.NewDense(n, 2, nil))
				return err
			},
			"b of a fit": func() error {
				return la.LeastSquares[float64](t.Context(), e, &mat.Dense{}, wide, mat.NewDense(n+3, 1, nil))
			},
			"inverse of a wide": func() error { _, err := la.Inverse[float64](t.Context(), e, &mat.Dense{}, wide); return err },
			"dst of an inverse": func() error {
				_, err := la.Inverse[float64](t.Context(), e, mat.NewDense(n, 2, nil), square)
				return err
			},
			"condition": func() error { _, err := la.Cond[float64](t.Context(), e, wide, 'I'); return err },
			"general": func() error {
				_, err := la.SolveGeneral(t.Context(), e, &mat.Dense{}, wide, mat.NewDense(n, 1, nil))
				return err
			},
		} {
			if err := f(); !errors.As(err, &shape) {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
		// A NaN or an infinity in A, for each method.
		for _, bad := range []float64{math.NaN(), math.Inf(-1)} {
			for what, a := range map[string]*mat.Dense{
				"LU":         asDense(square),
				"wide":       asDense(wide),
				"high":       asDense(transposed(wide)),
				"diagonal":   mat.NewDense(n, n, nil),
				"triangular": mat.NewDense(n, n, nil),
				"Cholesky":   mat.DenseCopyOf(conditioned(n, 3)),
			} {
				switch what {
				case "diagonal":
					a.Set(4, 4, bad)
				case "triangular":
					a.Set(5, 3, 1)
					a.Set(4, 3, bad)
				case "Cholesky":
					a.Set(3, 4, bad)
					a.Set(4, 3, bad)
				default:
					a.Set(4, 3, bad)
					a.Set(7, 1, bad)
				}
				row, col := 4, 3
				if what == "diagonal" {
					col = 4
				}
				if what == "Cholesky" && bad-bad == 0 {
					row, col = 3, 4
				}
				m, _ := a.Dims()
				var nf *la.NonFiniteError
				_, err := la.Solve[float64](t.Context(), e, &mat.Dense{}, a, mat.NewDense(m, 1, nil))
				if !errors.As(err, &nf) || (nf.Row != row || nf.Col != col) && what != "Cholesky" {
					t.Errorf("%s, %s, %v: %v", name, what, bad, err)
				}
				if what == "wide" || what == "high" {
					continue
				}
				if _, err := la.Inverse[float64](t.Context(), e, &mat.Dense{}, a); !errors.As(err, &nf) {
					t.Errorf("%s, inverse, %s: %v", name, what, err)
				}
			}
		}
		// No full rank.
		var cond mat.Condition
		zero := mat.NewDense(n, 4, nil)
		zero.Set(0, 0, 1)
		zero.Set(1, 1, 1)
		if _, err := la.Solve[float64](t.Context(), e, &mat.Dense{}, zero, mat.NewDense(n, 1, nil)); !errors.As(err, &cond) || !math.IsInf(float64(cond), 1) {
			t.Errorf("%s: columns of zeros: %v", name, err)
		}
		// Nothing to do.
		none := la.General[float64]{Stride: 1}
		for _, f := range []func() error{
			func() error { _, err := la.Solve[float64](t.Context(), e, none, none, none); return err },
			func() error { _, err := la.Inverse[float64](t.Context(), e, none, none); return err },
			func() error { return la.LeastSquares[float64](t.Context(), e, none, none, none) },
			func() error { _, err := la.SolveGeneral(t.Context(), e, none, none, none); return err },
		} {
			if err := f(); err != nil {
				t.Errorf("%s: of nothing: %v", name, err)
			}
		}
		// Of the equations of a system without any, zero is the solution.
		x := padded[float64](3, 2, 0)
		if _, err := la.Solve[float64](t.Context(), e, x, la.General[float64]{Cols: 3, Stride: 3}, la.General[float64]{Cols: 2, Stride: 2}); err != nil || mat.Norm(asDense(x), 1) != 0 {
			t.Errorf("%s: no equations: %v", name, err)
		}
	}
	closed := start(t, la.Options{Workers: 1})
	closed.Close()
	if _, err := la.Solve[float64](t.Context(), closed, &mat.Dense{}, mat.NewDense(2, 2, nil), mat.NewDense(2, 1, nil)); !errors.Is(err, exec.ErrClosed) {
		t.Errorf("closed engine: %v", err)
	}
}

// TestSolveCancel ends the context, and breaks a kernel, in every call of every
// solver: no goroutine is left, and dst is as it was.
func TestSolveCancel(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	var s saboteur
	e, err := la.NewEngine(la.Options{Workers: 2, NB: 8, Direct: -1, Deterministic: true, Float: true, Table: s.table()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	const n = 20
	rnd := rand.New(rand.NewPCG(7, 7))
	general, high := random[float64](rnd, n, n, 0), random[float64](rnd, n, 12, 0)
	spd, lower := conditioned(n, 10), mat.NewTriDense(n, mat.Lower, nil)
	for i := range n {
		lower.SetTri(i, 0, 1)
		lower.SetTri(i, i, 2)
	}
	b := random[float64](rnd, n, 2, 0)
	for name, f := range sorted.Map(map[string]func(ctx context.Context, dst *mat.Dense) error{
		"LU": func(ctx context.Context, x *mat.Dense) error {
			_, err := la.Solve[float64](ctx, e, x, general, b)
			return err
		},
		"Cholesky": func(ctx context.Context, x *mat.Dense) error {
			_, err := la.Solve[float64](ctx, e, x, spd, b)
			return err
		},
		"triangular": func(ctx context.Context, x *mat.Dense) error {
			_, err := la.Solve[float64](ctx, e, x, lower, b)
			return err
		},
		"QR": func(ctx context.Context, x *mat.Dense) error { return la.LeastSquares[float64](ctx, e, x, high, b) },
		"least norm": func(ctx context.Context, x *mat.Dense) error {
			return la.LeastSquares[float64](ctx, e, x, transposed(high), random[float64](rnd, 12, 2, 0))
		},
		"inverse": func(ctx context.Context, x *mat.Dense) error {
			_, err := la.Inverse[float64](ctx, e, x, general)
			return err
		},
		"inverse SPD": func(ctx context.Context, x *mat.Dense) error {
			_, err := la.Inverse[float64](ctx, e, x, spd)
			return err
		},
		"condition": func(ctx context.Context, x *mat.Dense) error {
			_, err := la.Cond(ctx, e, la.Source[float64](general), 'I')
			return err
		},
		"mixed": func(ctx context.Context, x *mat.Dense) error {
			_, err := la.SolveGeneral(ctx, e, x, general, b)
			return err
		},
	}) {
		s.arm(0, nil)
		var x mat.Dense
		if err := f(t.Context(), &x); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		rows, cols := x.Dims()
		total := int(s.calls.Load())
		for at := 1; at <= total; at++ {
			for _, end := range []bool{true, false} {
				ctx, cancel := context.WithCancelCause(t.Context())
				s.arm(at, func(c *versions.Call, run func(*versions.Call) error) error {
					if !end {
						return errBroken
					}
					cancel(errBroken)
					return run(c)
				})
				var dst mat.Dense
				if rows > 0 {
					dst.ReuseAs(rows, cols)
				}
				err := f(ctx, &dst)
				cancel(nil)
				// What ends with the last call may have succeeded.
				if err == nil && (!end || at < total-1) || err != nil && !errors.Is(err, errBroken) {
					t.Errorf("%s, call %d of %d: %v", name, at, total, err)
				}
				if err != nil && rows > 0 && mat.Norm(&dst, 1) != 0 {
					t.Errorf("%s, call %d of %d: dst was written", name, at, total)
				}
			}
		}
	}
}
