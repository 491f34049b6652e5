package la_test

import (
	"errors"
	"math"
	"testing"

	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/mat"
)

// TestMixedSingular solves systems that are singular and have solutions: refinement finds
// one, which is no reason to say nothing.
func TestMixedSingular(t *testing.T) {
	a := mat.NewDense(3, 3, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9})
	b := mat.NewDense(3, 1, []float64{6, 15, 24})
	gram := mat.NewSymDense(3, nil)
	gram.SymOuterK(1, a)
	var gb mat.Dense
	gb.Mul(gram, mat.NewDense(3, 1, []float64{1, 1, 1}))
	for name, e := range engines(t) {
		var condition mat.Condition
		var x mat.Dense
		if _, err := la.Solve[float64](t.Context(), e, &x, a, b); !errors.As(err, &condition) {
			t.Errorf("%s: Solve: %v", name, err)
		}
		r, err := la.SolveGeneral(t.Context(), e, &x, a, b)
		if !errors.As(err, &condition) || r.Fallback != la.NotFactored {
			t.Errorf("%s: SolveGeneral: %v, %+v", name, err, r)
		}
		if x.IsEmpty() || math.IsNaN(x.At(0, 0)) {
			t.Errorf("%s: no solution beside the warning", name)
		}
		x.Reset()
		var minor *la.NotPositiveDefiniteError
		// The last pivot is zero but for rounding, which leaves it a little below or, with fused products, above.
		if _, err := la.SolveSPD(t.Context(), e, &x, gram, &gb); !errors.As(err, &condition) && (!errors.As(err, &minor) || minor.Minor != 3) {
			t.Errorf("%s: SolveSPD: %v", name, err)
		}
	}
	// Columns that are only scaled differently are no reason to do without float32.
	const n = 40
	scaled := mat.NewDense(n, n, nil)
	for i := range n {
		for j := range n {
			v := 1 / float64(1+i+j*j)
			if i == j {
				v += n
			}
			scaled.Set(i, j, v*math.Pow(10, float64(-j/4)))
		}
	}
	rhs := mat.NewDense(n, 1, nil)
	rhs.Set(0, 0, 1)
	var x mat.Dense
	if r, err := la.SolveGeneral(t.Context(), nil, &x, scaled, rhs); err != nil || r.Fallback != la.NoFallback {
		t.Errorf("scaled columns: %v, %+v", err, r)
	}
}
