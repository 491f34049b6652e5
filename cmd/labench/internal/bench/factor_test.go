package bench

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/blocked/qr"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/la"
)

// Every way to pivot is verified, and what is said of it is what was done.
func TestPivoting(t *testing.T) {
	for _, pivot := range []la.Pivoting{la.PartialPivoting, la.TournamentPivoting, la.TilePivoting} {
		for _, shape := range [][2]int{{150, 150}, {300, 90}, {90, 300}} {
			s := Spec{Problem: Problem{Op: "lu", M: shape[0], N: shape[1], NB: 32, Pivot: pivot}, Repeat: 1, Verify: true, NoPeak: true}
			r, err := Run(context.Background(), s)
			if err != nil || r.Pivoting != pivot.String() || !(r.Growth >= 1) {
				t.Errorf("%v %v: %q, growth %g, %v", pivot, shape, r.Pivoting, r.Growth, err)
			}
			if !r.Passed && pivot != la.TilePivoting {
				t.Errorf("%v %v: %s", pivot, shape, r.Failure)
			}
		}
	}
	// The diagonal tile cannot be pivoted in.
	s := Spec{Problem: Problem{Op: "lu", N: 150, NB: 32, Matrix: matgen.FirstColumnZero, Pivot: la.TilePivoting}, Repeat: 1, Verify: true, NoPeak: true}
	var single *la.SingularError
	var broken *la.BreakdownError
	if _, err := Run(context.Background(), s); !errors.As(err, &broken) && !errors.As(err, &single) {
		t.Errorf("tile pivoting of a singular matrix: %v", err)
	}
}

// The elements of Wilkinson's matrix grow as far as they can, and that is what
// is said of the residual.
func TestGrowth(t *testing.T) {
	const n = 60
	s := Spec{Problem: Problem{Op: "lu", N: n, NB: 16, Matrix: matgen.Wilkinson}, Repeat: 1, Verify: true, NoPeak: true}
	r, err := Run(context.Background(), s)
	if err != nil || r.Passed || float64(r.Growth) != math.Exp2(n-1) || !strings.Contains(r.Failure, "the elements grew by 5.76e+17") {
		t.Errorf("growth %g, passed %v: %s, %v", r.Growth, r.Passed, r.Failure, err)
	}
}

// Every tree is verified, on shapes that suit it or do not.
func TestRotations(t *testing.T) {
	var specs []Spec
	for _, tree := range qr.Trees() {
		specs = append(specs, Spec{Problem: Problem{Tree: tree}})
	}
	specs = append(specs, Spec{Problem: Problem{Tree: qr.TreeDomains, Domain: 2, IB: 7}})
	for _, s := range specs {
		for _, shape := range [][2]int{{100, 100}, {330, 40}, {40, 330}, {17, 5}} {
			s.Op, s.M, s.N, s.NB, s.Repeat, s.Verify, s.NoPeak = "qr", shape[0], shape[1], 32, 1, true, true
			r, err := Run(context.Background(), s)
			if err != nil || !r.Passed || len(r.Checks) != 2 {
				t.Errorf("%v %v: %s, %v", s.Tree, shape, r.Failure, err)
			}
			if r.Residual != max(r.Checks[0].Residual, r.Checks[1].Residual) || !strings.Contains(r.Formula, "‖") {
				t.Errorf("%v %v: residual %g (%s) of %v", s.Tree, shape, r.Residual, r.Formula, r.Checks)
			}
			if ratio := r.Performed / r.Flops; shape[0] == shape[1] && !(ratio > 0.9 && ratio < 1.5) {
				t.Errorf("%v %v: %g of %g flops", s.Tree, shape, r.Performed, r.Flops)
			}
		}
	}
	var invalid *InvalidError
	if _, err := Run(context.Background(), Spec{Problem: Problem{Op: "qr", N: 9, Tree: qr.TreeGreedy, Domain: 2, IB: -1}}); !errors.As(err, &invalid) ||
		len(invalid.Problems) != 2 {
		t.Errorf("a domain that the tree does not have, and a negative block: %v", err)
	}
}
