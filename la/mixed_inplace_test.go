package la_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
)

// TestMixedInPlace: in place and on other nodes mixed precision solves as well as in memory,
// with right-hand sides of all sizes, falls back where it has to, and says why.
func TestMixedInPlace(t *testing.T) {
	d, _ := nodes(t, 2, false)
	one, err := exec.NewLocal(exec.Options{Workers: 2, Float: true})
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	for name, rt := range map[string]exec.Runtime{"one": one, "nodes": d} {
		e, err := la.NewEngine(la.Options{Runtime: rt, NB: 8})
		if err != nil {
			t.Fatal(err)
		}
		for _, spd := range []bool{true, false} {
			for _, c := range []struct {
				name  string
				n     int
				scale float64 // of A
				slope float64 // of the diagonal
				want  la.Fallback
			}{
				{"one tile", 5, 1, 0, la.NoFallback},
				{"small", 30, 0x1p-60, 0, la.NoFallback},
				{"large", 30, 0x1p90, 0, la.NoFallback},
				{"out of range", 20, 0x1p200, 0, la.OutOfRange},
				{"ill-conditioned", 30, 1, -12, la.NotFactored},
			} {
				t.Run(fmt.Sprintf("%s/spd=%t/%s", name, spd, c.name), func(t *testing.T) { mixedInPlace(t, rt, e, spd, c.n, c.scale, c.slope, c.want) })
			}
		}
	}
}

func mixedInPlace(t *testing.T, rt exec.Runtime, e *la.Engine, spd bool, n int, scale, slope float64, want la.Fallback) {
	const nb, nrhs = 8, 11
	ctx := context.Background()
	kind := blocked.Full
	if spd {
		kind = blocked.SymUpper
	}
	solve := func(ctx context.Context, e *la.Engine, a, b *blocked.Matrix[float64]) (la.Refinement, error) {
		if spd {
			return la.SolveSPD(ctx, e, b, a, b, la.InPlace())
		}
		return la.SolveGeneral(ctx, e, b, a, b, la.InPlace())
	}
	// A = Q·D·Q with a reflection Q, and the diagonal D falls from 1 to 10^slope.
	v := func(i int) float64 {
		return math.Sqrt(2*float64(i+1)) / float64(n) * math.Sqrt(float64(n)/float64(n+1))
	}
	d := func(i int) float64 { return math.Pow(10, slope*float64(i)/float64(n)) }
	vdv := 0.0
	for k := range n {
		vdv += v(k) * v(k) * d(k)
	}
	here := blocked.New[float64](kind, n, n, nb)
	for i := range n {
		for j := range n {
			x := -2*v(i)*v(j)*(d(i)+d(j)) + 4*v(i)*v(j)*vdv
			if i == j {
				x += d(i)
			}
			here.Set(i, j, scale*x)
		}
	}
	if !spd && slope == 0 {
		here.Set(0, n-1, scale*3)
	}
	b := blocked.New[float64](blocked.Full, n, nrhs, nb)
	for i := range n {
		for j := range nrhs {
			b.Set(i, j, math.Ldexp(float64(1+i*j%7), 20*j-100))
		}
	}
	away := func(src *blocked.Matrix[float64]) *blocked.Matrix[float64] {
		m, n := src.Dims()
		a, err := blocked.Distributed[float64](rt, src.Kind(), m, n, nb)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { a.Close() })
		if err := engine.Run(ctx, e, func(p *blocked.Program[float64]) error { return p.Load(a, src, blocked.LoadOptions{}) }); err != nil {
			t.Fatal(err)
		}
		return a
	}
	a, x := away(here), away(b)
	report, err := solve(ctx, e, a, x)
	if err != nil || report.Fallback != want {
		t.Fatalf("%+v, %v, want %v", report, err, want)
	}
	if want == la.NoFallback && !(report.BackwardError < 1e-15) || want != la.NoFallback && report.BackwardError == report.BackwardError {
		t.Errorf("backward error %v", report.BackwardError)
	}
	if want == la.NoFallback {
		for i := range n {
			for j := range n {
				if a.At(i, j) != here.At(i, j) {
					t.Fatalf("A has changed: (%d, %d)", i, j)
				}
			}
		}
	}
	r := blocked.New[float64](blocked.Full, n, nrhs, nb)
	full := blocked.New[float64](blocked.Full, n, n, nb)
	here.CopyTo(full, 1)
	if err := la.Gemm[float64](ctx, e, blas.NoTrans, blas.NoTrans, 1, full, gathered(x), 0, r); err != nil {
		t.Fatal(err)
	}
	for j := range nrhs {
		worst, top, size := 0.0, 0.0, 0.0
		for i := range n {
			sum := 0.0
			for k := range n {
				sum += math.Abs(here.At(i, k))
			}
			worst, top, size = max(worst, math.Abs(r.At(i, j)-b.At(i, j))), max(top, math.Abs(x.At(i, j))), max(size, sum)
		}
		if !(worst <= 100*0x1p-53*size*top) {
			t.Errorf("column %d: residual %v, ‖A‖ %v, ‖x‖ %v", j, worst, size, top)
		}
	}
}

// gathered returns a copy of a here.
func gathered(a *blocked.Matrix[float64]) *blocked.Matrix[float64] {
	m, n := a.Dims()
	b := blocked.New[float64](blocked.Full, m, n, a.NB())
	a.CopyTo(b, 2)
	return b
}

// TestMixedInPlaceErrors: what cannot be solved in place is refused by type.
func TestMixedInPlaceErrors(t *testing.T) {
	ctx := context.Background()
	full, sym := blocked.New[float64](blocked.Full, 9, 9, 4), blocked.New[float64](blocked.SymUpper, 9, 9, 4)
	b, other := blocked.New[float64](blocked.Full, 9, 2, 4), blocked.New[float64](blocked.Full, 9, 2, 5)
	var shape *la.ShapeError
	for i, err := range []error{
		second(la.SolveSPD(ctx, nil, b, full, b, la.InPlace())), second(la.SolveGeneral(ctx, nil, b, sym, b, la.InPlace())),
		second(la.SolveSPD(ctx, nil, other, sym, other, la.InPlace())), second(la.SolveGeneral(ctx, nil, other, full, other, la.InPlace())),
	} {
		if !errors.As(err, &shape) {
			t.Errorf("%d: %v", i, err)
		}
	}
	var singular *la.SingularError
	if r, err := la.SolveGeneral(ctx, nil, b, full, b, la.InPlace()); r.Fallback != la.NotFactored || !errors.As(err, &singular) {
		t.Errorf("zeros: %+v, %v", r, err)
	}
	var minor *la.NotPositiveDefiniteError
	if r, err := la.SolveSPD(ctx, nil, b, sym, b, la.InPlace()); r.Fallback != la.NotFactored || !errors.As(err, &minor) {
		t.Errorf("zeros: %+v, %v", r, err)
	}
	sym.Set(2, 3, math.NaN())
	var bad *la.NonFiniteError
	if r, err := la.SolveSPD(ctx, nil, b, sym, b, la.InPlace()); r.Fallback != la.OutOfRange || !errors.As(err, &bad) {
		t.Errorf("a NaN: %+v, %v", r, err)
	}
}

func second(_ la.Refinement, err error) error { return err }
