package tiles_test

import (
	"math"
	"testing"

	"github.com/tessera-la/tessera/blocked/internal/blockedtest"
	"github.com/tessera-la/tessera/blocked/tiles"
)

func TestColumns(t *testing.T) {
	for _, dims := range [][2]int{{0, 0}, {0, 3}, {3, 0}, {1, 1}, {9, 4}, {4, 9}, {17, 5}} {
		m, n := dims[0], dims[1]
		a := tiles.New[float64](tiles.Full, m, n, 4)
		b := tiles.New[float32](tiles.Full, m, n, 4)
		d, want := make([]float64, n), make([]float64, n)
		for j := range n {
			d[j] = float64(j + 1)
			for i := range m {
				v := float64((i*7+j*5)%11 - 5)
				a.Set(i, j, v)
				want[j] = max(want[j], math.Abs(v))
			}
		}
		for j, v := range a.ColumnMax(3) {
			if v != want[j] {
				t.Errorf("%v: maximum of column %d is %v, want %v", dims, j, v, want[j])
			}
		}
		tiles.ScaleColumns(b, a, d, false, 3)
		tiles.ScaleColumns(a, b, d, true, 3)
		for i := range m {
			for j := range n {
				v := float64((i*7+j*5)%11 - 5)
				if got := b.At(i, j); float64(got) != v*d[j] {
					t.Fatalf("%v: (%d, %d) is %v, want %v", dims, i, j, got, v*d[j])
				}
				if got := a.At(i, j); got != v+v*d[j]*d[j] {
					t.Fatalf("%v: (%d, %d) is %v after the sum, want %v", dims, i, j, got, v+v*d[j]*d[j])
				}
			}
		}
	}
	a := tiles.New[float64](tiles.Full, 9, 3, 4)
	a.Set(5, 1, math.NaN())
	if got := a.ColumnMax(1); got[0] != 0 || !math.IsNaN(got[1]) || got[2] != 0 {
		t.Errorf("maxima %v with a NaN in column 1", got)
	}
	// Rounded once, to float32.
	x, y := tiles.New[float64](tiles.Full, 1, 1, 4), tiles.New[float32](tiles.Full, 1, 1, 4)
	x.Set(0, 0, 1+0x1p-24+0x1p-50)
	y.Set(0, 0, 1)
	tiles.ScaleColumns(y, x, []float64{0x1p-1}, true, 1)
	if got, want := y.At(0, 0), float32(1.5+0x1p-25+0x1p-51); got != want {
		t.Errorf("sum %v, want %v", got, want)
	}
}

func TestColumnsPanics(t *testing.T) {
	full, sym := tiles.New[float64](tiles.Full, 3, 3, 2), tiles.New[float64](tiles.SymLower, 3, 3, 2)
	for i, c := range []struct {
		f    func()
		want any
	}{
		{func() { sym.ColumnMax(1) }, tiles.ErrKind},
		{func() { tiles.ScaleColumns(full, sym, make([]float64, 3), false, 1) }, tiles.ErrKind},
		{func() { tiles.ScaleColumns(full, full, make([]float64, 2), false, 1) }, tiles.ErrShape},
		{func() {
			tiles.ScaleColumns(full, tiles.New[float64](tiles.Full, 3, 3, 3), make([]float64, 3), false, 1)
		}, tiles.ErrShape},
	} {
		if v := blockedtest.Recovered(c.f); v != c.want {
			t.Errorf("case %d: panic %v, want %v", i, v, c.want)
		}
	}
}
