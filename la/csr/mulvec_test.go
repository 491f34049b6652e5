package csr

import (
	"math"
	"testing"
)

// TestMulVecNarrow: rows of all lengths, by columns of 32 bits and by those of 64, which only
// matrices of more than 2^31 columns have; and the caller's arrays change.
func TestMulVecNarrow(t *testing.T) {
	const n = 20
	a := &Matrix{rows: n, cols: n, ia: make([]int, 1, n+1)}
	x, want := make([]float64, n), make([]float64, n)
	for i := range n {
		x[i] = float64(i + 1)
		for k := range i {
			j := (7*i + 3*k) % n
			a.ja, a.data = append(a.ja, j), append(a.data, float64(k-5))
			want[i] += float64(k-5) * float64(j+1)
		}
		a.ia = append(a.ia, len(a.ja))
	}
	wide, got := make([]float64, n), make([]float64, n)
	a.mulVec(wide, x, 0, n)
	wider := math.MaxInt32
	wider++ // negative where int has 32 bits: there all columns fit
	if !a.narrowed() || wider > 0 && (&Matrix{cols: wider}).narrowed() {
		t.Error("which columns fit into 32 bits")
	}
	a.mulVecNarrow(got, x, 0, n)
	for i := range want {
		if wide[i] != want[i] || got[i] != want[i] {
			t.Errorf("row %d: %v and %v, want %v", i, wide[i], got[i], want[i])
		}
	}
	panics := func(what string, f func()) {
		defer func() {
			if recover() == nil {
				t.Error(what, "does not panic")
			}
		}()
		f()
	}
	// Some rows, and no others.
	const lo, hi = 7, 12
	some := make([]float64, n)
	a.mulVecNarrow(some, x, lo, lo)
	a.mulVecNarrow(some, x, lo, hi)
	for i, v := range some {
		if inside := lo <= i && i < hi; inside && v != want[i] || !inside && v != 0 {
			t.Errorf("rows %d to %d: row %d is %v", lo, hi-1, i, v)
		}
	}
	end := a.ia[5]
	a.ia[5] = a.ia[4] - 1
	panics("a row that ends before it begins", func() { a.mulVecNarrow(got, x, 0, n) })
	a.ia[5] = end
	a.ia[n] = len(a.ja) + 1
	panics("a row that ends behind the entries", func() { a.mulVecNarrow(got, x, 0, n) })
	panics("a column out of range", func() { (&Matrix{cols: 2, ja: []int{0, 2}}).narrowed() })
}
