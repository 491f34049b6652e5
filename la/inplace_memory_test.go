package la_test

import (
	"slices"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/mat"
)

// TestInPlaceGivesBack: the tiles of a matrix that was factored in place are the caller's again after Reset, and after
// the next factorization: no later factorization of a copy writes to them.
func TestInPlaceGivesBack(t *testing.T) {
	e := start(t, la.Options{Workers: 2, NB: 4, Direct: -1})
	spd := mat.NewSymDense(8, nil)
	for i := range 8 {
		for j := range i + 1 {
			spd.SetSym(i, j, 1)
		}
		spd.SetSym(i, i, 9)
	}
	full := mat.DenseCopyOf(spd)
	chol, lu, qr := la.NewCholesky[float64](e), la.NewLU[float64](e), la.NewQR[float64](e)
	for name, f := range map[string]struct {
		kind      blocked.Kind
		factorize func(a *blocked.Matrix[float64], opts ...la.CallOption) error
		again     func() error
		reset     func()
	}{
		"cholesky": {blocked.SymUpper, func(a *blocked.Matrix[float64], opts ...la.CallOption) error { return chol.Factorize(a, opts...) },
			func() error { return chol.Factorize(spd) }, chol.Reset},
		"lu": {blocked.Full, func(a *blocked.Matrix[float64], opts ...la.CallOption) error { return lu.Factorize(a, opts...) },
			func() error { return lu.Factorize(full) }, lu.Reset},
		"qr": {blocked.Full, func(a *blocked.Matrix[float64], opts ...la.CallOption) error { return qr.Factorize(a, opts...) },
			func() error { return qr.Factorize(full) }, qr.Reset},
	} {
		for _, reset := range []bool{true, false} {
			a := blocked.New[float64](f.kind, 8, 8, 4)
			for i := range 8 {
				for j := i; j < 8; j++ {
					a.Set(i, j, spd.At(i, j))
					if f.kind == blocked.Full {
						a.Set(j, i, spd.At(i, j))
					}
				}
			}
			if err := f.factorize(a, la.InPlace()); err != nil {
				t.Fatal(name, err)
			}
			if reset {
				f.reset()
			}
			elements := func() (all []float64) {
				for i := range 8 {
					for j := i; j < 8; j++ {
						all = append(all, a.At(i, j))
					}
				}
				return all
			}
			for i := range 8 {
				for j := i; j < 8; j++ {
					a.Set(i, j, float64(10*i+j))
				}
			}
			before := elements()
			if err := f.again(); err != nil {
				t.Fatal(name, err)
			}
			if !slices.Equal(elements(), before) {
				t.Errorf("%s, reset %v: a later factorization has overwritten the caller's tiles", name, reset)
			}
			f.reset()
		}
	}
}
