package csr_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/james-bowman/sparse"
	"github.com/tessera-la/tessera/la/csr"
	"gonum.org/v1/gonum/mat"
)

// TestFrom: matrices of package sparse and of gonum, with duplicates and in any order, are what a dense matrix says.
func TestFrom(t *testing.T) {
	const m, n = 7, 5
	rt := start(t, 2)
	rnd := rand.New(rand.NewPCG(3, 4))
	want := mat.NewDense(m, n, nil)
	coo, dok := sparse.NewCOO(m, n, nil, nil, nil), sparse.NewDOK(m, n)
	for range 60 { // of 35 places, so there are duplicates, of the first column of a row, too
		i, j, v := rnd.IntN(m), rnd.IntN(n), float64(rnd.IntN(9)-4)
		coo.Set(i, j, v)
		want.Set(i, j, want.At(i, j)+v)
	}
	var rows []int
	var values []float64
	ia := []int{0}
	for j := range n {
		for i := range m {
			if v := want.At(i, j); v != 0 {
				dok.Set(i, j, v)
				rows, values = append(rows, i), append(values, v)
			}
		}
		ia = append(ia, len(rows))
	}
	band := mat.NewBandDense(m, n, 1, 2, nil)
	wantBand := mat.NewDense(m, n, nil)
	for i := range m {
		for j := max(0, i-1); j < min(n, i+3); j++ {
			v := rnd.NormFloat64()
			band.SetBand(i, j, v)
			wantBand.Set(i, j, v)
		}
	}
	dia := sparse.NewDIA(m, n, []float64{1, -2, 3, 4, 5})
	wantDIA := mat.NewDense(m, n, nil)
	for i := range n {
		wantDIA.Set(i, i, dia.At(i, i))
	}
	for name, c := range map[string]struct{ a, want mat.Matrix }{
		"coo": {coo, want}, "dok": {dok, want}, "csc": {sparse.NewCSC(m, n, ia, rows, values), want},
		"csr": {dok.ToCSR(), want}, "dia": {dia, wantDIA}, "band": {band, wantBand},
	} {
		a, err := csr.From(rt, c.a)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		x, y := make([]float64, n), make([]float64, m)
		for j := range n {
			clear(x)
			x[j] = 1
			if err := a.MulVecTo(t.Context(), y, false, x); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for i := range m {
				if y[i] != c.want.At(i, j) {
					t.Errorf("%s: element (%d, %d) is %v, want %v", name, i, j, y[i], c.want.At(i, j))
				}
			}
		}
	}
	var bad *csr.StructureError
	if _, err := csr.From(rt, mat.NewDense(2, 2, nil)); !errors.As(err, &bad) {
		t.Errorf("a dense matrix: %v", err)
	}
}
