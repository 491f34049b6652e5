package la_test

import (
	"context"
	"math"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/engine"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/mat"
)

// TestReportsBesideErrors: what comes beside an error does not say that something went well.
func TestReportsBesideErrors(t *testing.T) {
	ctx := context.Background()
	sym, bad := mat.NewSymDense(2, []float64{1, 2, 2, 1}), mat.NewDense(2, 2, []float64{1, 2, 2, math.NaN()})
	b, long := mat.NewDense(2, 1, []float64{1, 1}), mat.NewDense(3, 1, nil)
	full := blocked.New[float64](blocked.Full, 2, 2, 2)
	for name, solve := range map[string]func() (la.Refinement, error){
		"SolveSPD, indefinite":   func() (la.Refinement, error) { return la.SolveSPD(ctx, nil, new(mat.Dense), sym, b) },
		"SolveSPD, shape":        func() (la.Refinement, error) { return la.SolveSPD(ctx, nil, new(mat.Dense), sym, long) },
		"SolveGeneral, NaN":      func() (la.Refinement, error) { return la.SolveGeneral(ctx, nil, new(mat.Dense), bad, b) },
		"SolveGeneral, shape":    func() (la.Refinement, error) { return la.SolveGeneral(ctx, nil, new(mat.Dense), bad, long) },
		"SolveSPD, in place":     func() (la.Refinement, error) { return la.SolveSPD(ctx, nil, full, full, full, la.InPlace()) },
		"SolveGeneral, in place": func() (la.Refinement, error) { return la.SolveGeneral(ctx, nil, full, full, full, la.InPlace()) },
	} {
		if r, err := solve(); err == nil || r.Fallback == la.NoFallback || r.Fallback != la.UnknownFallback && r.BackwardError == 0 {
			t.Errorf("%s: %v beside %+v, %v", name, err, r, r.Fallback)
		}
	}
	for name, solve := range map[string]func() (la.SolveReport, error){
		"Solve, shape":   func() (la.SolveReport, error) { return la.Solve(ctx, nil, new(mat.Dense), bad, long) },
		"Inverse, shape": func() (la.SolveReport, error) { return la.Inverse(ctx, nil, new(mat.Dense), long) },
	} {
		if r, err := solve(); err == nil || r.Method != la.MethodNone || r.Method.String() != "none" {
			t.Errorf("%s: %v beside %+v", name, err, r)
		}
	}
	// Nothing to solve is solved.
	if r, err := la.SolveSPD(ctx, nil, new(mat.Dense), new(mat.SymDense), new(mat.Dense)); err != nil || r.Fallback != la.NoFallback {
		t.Errorf("nothing: %v, %+v", err, r)
	}
	// No version can run: there is no ground for one.
	if x, ok := engine.Explain[float64](nil, "nosuch", nil); ok || x.Why != versions.None {
		t.Errorf("no such operation: %v", x.Why)
	}
	s, err := versions.NewSelector(versions.Config{})
	if err != nil {
		t.Fatal(err)
	}
	op := &versions.Op{Name: "none", Versions: []versions.Version{{Name: "v", Constraints: versions.Constraints{Arch: "pdp11"}, Run: func(*versions.Call) error { return nil }}}}
	if x := s.Explain(op, nil, &versions.Target{}); x.Chosen != "" || x.Why != versions.None {
		t.Errorf("%q is chosen, %v", x.Chosen, x.Why)
	}
}
