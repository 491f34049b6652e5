package la_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
)

// TestLUGrowth compares the growth of the three pivotings on matrices of order
// 96 in tiles of 8: as small for tournaments as for partial pivoting, and
// without bounds where pivots are looked for in one tile only.
func TestLUGrowth(t *testing.T) {
	const n, nb = 96, 8
	e := start(t, la.Options{Workers: 2, NB: nb, Direct: -1, Deterministic: true})
	type result struct{ growth, residual float64 }
	measure := func(s matgen.Spec, p la.Pivoting) (r result) {
		t.Helper()
		s.M, s.N, s.NB = n, n, nb
		f, err := la.NewLUWith[float64](e, la.LUOptions{Pivoting: p, GrowthLimit: math.MaxFloat64})
		if err != nil {
			t.Fatal(err)
		}
		a := rectangle[float64](t, s, 0)
		if err := f.Factorize(a); err != nil {
			t.Fatalf("%v, %v: %v", s.Kind, p, err)
		}
		if f.Pivoting() != p {
			t.Errorf("%v, %v: pivoting %v", s.Kind, p, f.Pivoting())
		}
		return result{f.Growth(), luResidual(f, load[float64](a, blas.NoTrans))}
	}
	for _, seed := range []uint64{1, 2, 3, 4, 5} {
		for _, c := range []struct {
			what            string
			spec            matgen.Spec
			lo, hi, residue float64 // of tile pivoting
		}{
			{"random", matgen.Spec{Seed: seed}, 20, 1e6, 1e3},
			{"first tile scaled by 1e-8", matgen.Spec{Kind: matgen.ScaledTile, Seed: seed}, 1e7, 1e13, 1e11},
		} {
			partial, tournament, tile := measure(c.spec, la.PartialPivoting), measure(c.spec, la.TournamentPivoting), measure(c.spec, la.TilePivoting)
			what := fmt.Sprintf("%s, seed %d: partial %.3g, tournament %.3g, tile %.3g", c.what, seed, partial, tournament, tile)
			if !(partial.growth < 30 && tournament.growth < 60 && tile.growth > c.lo && tile.growth < c.hi) {
				t.Errorf("%s: growth", what)
			}
			if !(partial.residual < 1 && tournament.residual < 1 && tile.residual < c.residue) {
				t.Errorf("%s: residual", what)
			}
			if strings.HasPrefix(c.what, "first") && !(tile.residual > 1e3) {
				t.Errorf("%s: that is better than it ought to be", what)
			}
			t.Log(what)
		}
	}
	// The matrices that partial pivoting itself cannot cope with.
	w, _ := luOf[float64](t, e, matgen.Spec{Kind: matgen.Wilkinson, N: 50})
	if got, want := w.Growth(), math.Ldexp(1, 49); got != want {
		t.Errorf("growth %v, want %v", got, want)
	}
	f, _ := luOf[float64](t, e, matgen.Spec{Kind: matgen.Foster, N: 50})
	if got, want := f.Growth(), 2.0/3*(math.Ldexp(1, 49)-1)+1; math.Abs(got/want-1) > 1e-12 {
		t.Errorf("growth %v, want %v", got, want)
	}
}

// TestLUBreakdown has tile pivoting break down: it says so, or falls back and
// gives what partial pivoting gives.
func TestLUBreakdown(t *testing.T) {
	const n, nb = 40, 8
	e := start(t, la.Options{Workers: 2, NB: nb, Direct: -1, Deterministic: true})
	type breakdown struct {
		spec   matgen.Spec
		column int // of the error; 0 for growth
	}
	cases := []breakdown{
		{matgen.Spec{Kind: matgen.ScaledTile}, 0},
		{matgen.Spec{Kind: matgen.Wilkinson}, 0},
		{matgen.Spec{Kind: matgen.FirstColumnZero}, 1},
		{matgen.Spec{Kind: matgen.ZeroTile}, 1},
		// Of the tiles after the first, what is left is not singular.
		{matgen.Spec{Kind: matgen.Lower, Seed: 1}, -1},
		{matgen.Spec{Kind: matgen.Lehmer}, -1},
		{matgen.Spec{Kind: matgen.ZeroTile, TileRow: 2, TileCol: 1}, -1},
		{matgen.Spec{Kind: matgen.LastColumnZero}, -1}, // singular, as it is with any pivoting
	}
	for _, c := range cases {
		c.spec.M, c.spec.N, c.spec.NB = n, n, nb
		what := c.spec.Kind.String()
		a := rectangle[float64](t, c.spec, 0)
		want := la.NewLU[float64](e)
		singular := factorized(t, want, want.Factorize(a), "%s: partial", what)

		f, _ := la.NewLUWith[float64](e, la.LUOptions{Pivoting: la.TilePivoting})
		err := f.Factorize(a)
		var b *la.BreakdownError
		switch {
		case c.column < 0:
			factorized(t, f, err, "%s", what)
		case !errors.As(err, &b) || b.Column != c.column || b.Limit != 100*n || c.column == 0 && !(b.Growth > b.Limit):
			t.Errorf("%s: %v, want a breakdown in column %d", what, err, c.column)
		case !f.IsEmpty():
			t.Errorf("%s: a factorization that has broken down", what)
		case !strings.Contains(err.Error(), "partial pivoting"):
			t.Errorf("%s: %v does not say what to do", what, err)
		}

		g, _ := la.NewLUWith[float64](e, la.LUOptions{Pivoting: la.TilePivoting, OnBreakdown: la.FallBack})
		if factorized(t, g, g.Factorize(a), "%s: falling back", what) != singular {
			t.Errorf("%s: singular or not, %v", what, singular)
		}
		if fell := g.Pivoting() == la.PartialPivoting; fell != (c.column >= 0) {
			t.Errorf("%s: pivoting %v", what, g.Pivoting())
		} else if fell && !slices.Equal(g.Swaps(nil), want.Swaps(nil)) {
			t.Errorf("%s: not the pivots of partial pivoting", what)
		}
		small(t, luResidual(g, load[float64](a, blas.NoTrans)), 30, "%s: falling back", what)
	}
	// Rank 1: a tile that is the whole matrix.
	for _, at := range []int{0, 1} {
		a := rectangle[float64](t, matgen.Spec{Kind: matgen.SingularTile, M: n, N: n, NB: n / (1 + at), TileRow: at, TileCol: at}, 0)
		for name, f := range lus[float64](t, e) {
			err := f.Factorize(a)
			factorized(t, f, err, "%s, rank 1", name)
			small(t, luResidual(f, load[float64](a, blas.NoTrans)), 30, "%s, rank 1", name)
		}
	}
	// A limit of one's own.
	a := rectangle[float64](t, matgen.Spec{M: n, N: n}, 0)
	for _, p := range []la.Pivoting{la.TournamentPivoting, la.TilePivoting} {
		f, _ := la.NewLUWith[float64](e, la.LUOptions{Pivoting: p, GrowthLimit: 1.5})
		err := f.Factorize(a)
		var b *la.BreakdownError
		if p == la.TournamentPivoting {
			if err != nil || f.Pivoting() != la.PartialPivoting {
				t.Errorf("tournament: %v, pivoting %v, want it to fall back", err, f.Pivoting())
			}
		} else if !errors.As(err, &b) || b.Limit != 1.5 || b.Column != 0 {
			t.Errorf("tile: %v, want a breakdown", err)
		}
	}
}

// TestLUTournament plays in several rounds, and checks that L stays small.
func TestLUTournament(t *testing.T) {
	for _, nb := range []int{2, 5, 8} {
		e := start(t, la.Options{Workers: 3, NB: nb, Direct: -1, Float: true})
		for _, s := range [][2]int{{100, 100}, {150, 20}, {97, 53}, {90, 130}} {
			for _, kind := range []matgen.Kind{matgen.Random, matgen.Graded, matgen.ScaledTile, matgen.ZeroTile, matgen.Cond} {
				f, _ := la.NewLUWith[float64](e, la.LUOptions{Pivoting: la.TournamentPivoting})
				a := rectangle[float64](t, matgen.Spec{Kind: kind, M: s[0], N: s[1], NB: nb}, 0)
				what := fmt.Sprintf("%v, %v, nb %d", kind, s, nb)
				if err := f.Factorize(a); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				if f.Pivoting() != la.TournamentPivoting {
					t.Errorf("%s: it fell back", what)
				}
				small(t, luResidual(f, load[float64](a, blas.NoTrans)), 30, "%s", what)
				g := padded[float64](s[0], s[1], 0)
				f.FactorTo(g)
				for i := range s[0] {
					for j := range min(i, s[1]) {
						if l := math.Abs(g.At(i, j)); !(l < 30) {
							t.Errorf("%s: L(%d, %d) = %v", what, i, j, l)
						}
					}
				}
			}
		}
	}
}

// TestLUOptions checks names, parsers and what Validate finds.
func TestLUOptions(t *testing.T) {
	var pivoting la.Pivoting
	var consequence la.OnBreakdown
	for _, p := range []la.Pivoting{la.PartialPivoting, la.TournamentPivoting, la.TilePivoting} {
		if err := pivoting.Set(strings.ToUpper(p.String())); pivoting != p || err != nil {
			t.Errorf("%v is read as %v, %v", p, pivoting, err)
		}
	}
	for _, b := range []la.OnBreakdown{la.ReturnError, la.FallBack} {
		if err := consequence.Set(b.String()); consequence != b || err != nil {
			t.Errorf("%v is read as %v, %v", b, consequence, err)
		}
	}
	if err := pivoting.Set("complete"); err == nil || !strings.Contains(err.Error(), "partial, tournament, tile") {
		t.Errorf("%v does not name what is known", err)
	}
	if err := consequence.Set(""); err == nil || !strings.Contains(err.Error(), "error, fallback") {
		t.Errorf("%v does not name what is known", err)
	}
	if la.Pivoting(9).String() != "Pivoting(9)" || la.OnBreakdown(9).String() != "OnBreakdown(9)" {
		t.Error("names of what has none")
	}
	bad := la.LUOptions{Pivoting: 3, OnBreakdown: 2, GrowthLimit: 0.5}
	var options *la.OptionsError
	if _, err := la.NewLUWith[float64](nil, bad); !errors.As(err, &options) || len(options.Problems) != 3 {
		t.Errorf("%v, want three problems", err)
	}
	for _, limit := range []float64{math.NaN(), math.Inf(1), -1} {
		if err := (&la.LUOptions{GrowthLimit: limit}).Validate(); err == nil {
			t.Errorf("a limit of %v is accepted", limit)
		}
	}
	if err := new(la.LUOptions).Validate(); err != nil {
		t.Error(err)
	}
}

// luResults factors with one pivoting, computes one of everything and returns
// all of it in one slice.
func luResults[T la.Element](t *testing.T, e *la.Engine, n int, pivoting la.Pivoting) []T {
	t.Helper()
	f, err := la.NewLUWith[T](e, la.LUOptions{Pivoting: pivoting, GrowthLimit: 1e300})
	if err != nil {
		t.Fatal(err)
	}
	a, x, inv := rectangle[T](t, matgen.Spec{M: n, N: n}, 0), rectangle[T](t, matgen.Spec{M: n, N: 5, Seed: 1}, 0), padded[T](n, n, 0)
	for _, err := range []error{f.Factorize(a), f.SolveTo(x, false, x), f.SolveTo(x, true, x), f.InverseTo(inv)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	f.FactorTo(a)
	log, sign := f.LogDet()
	all := []T{T(log), T(sign), T(f.Cond()), T(f.Growth())}
	for _, r := range f.Swaps(nil) {
		all = append(all, T(r))
	}
	for _, g := range []la.General[T]{a, x, inv} {
		all = append(all, g.Data[:g.Rows*g.Stride]...)
	}
	return all
}

// TestLUDeterminism checks that the bits of all results are the same whatever
// the number of workers, the policy and the window.
func TestLUDeterminism(t *testing.T) {
	for _, pivoting := range []la.Pivoting{la.PartialPivoting, la.TournamentPivoting, la.TilePivoting} {
		var want []float64
		var want32 []float32
		for w, workers := range []int{1, 2, 3, 7} {
			for k, policy := range dispatch.Kinds() {
				window := 5 * ((w + k) % 2)
				e := start(t, la.Options{Deterministic: true, NB: 8, Direct: -1, Workers: workers, Policy: policy, Window: window, Float: true})
				got, got32 := luResults[float64](t, e, 67, pivoting), luResults[float32](t, e, 67, pivoting)
				if want == nil {
					want, want32 = got, got32
				}
				for i := range want {
					if bits(got[i]) != bits(want[i]) || bits(got32[i]) != bits(want32[i]) {
						t.Fatalf("%v, %d workers, %v, window %d: number %d is %v, was %v", pivoting, workers, policy, window, i, got[i], want[i])
					}
				}
			}
		}
	}
}
