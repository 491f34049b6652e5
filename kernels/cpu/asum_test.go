package cpu

import (
	"math"
	"testing"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels/cpu/isa"
	"github.com/tessera-la/tessera/kernels/cpu/native"
)

// TestMagnitudes: with and without vectors, sums and maxima are what the plain loops below say, of all
// lengths around those of a vector. Elements are whole numbers, so that sums are exact in any order,
// and one of them is NaN or infinite in turn. What lies beyond them is NaN, and must not be read;
// the sums beyond those of the columns must stay.
func TestMagnitudes(t *testing.T) {
	sets := append(native.Here(), new(isa.Table))
	for _, set := range sets { // make test says if there are none
		for n := range 71 {
			compareMagnitudes(t, isa.Of[float64](set), n)
			compareMagnitudes(t, isa.Of[float32](set), n)
		}
		if t.Failed() {
			t.Fatalf("vectors: %q", set.Name)
		}
	}
}

// compareMagnitudes compares these functions with plain loops, for rows of n elements.
func compareMagnitudes[T scalar.Real](t *testing.T, k *isa.Kernels[T], n int) {
	t.Helper()
	nan := math.NaN()
	for _, stride := range []int{n, n + 7} {
		for _, odd := range []float64{1, nan, math.Copysign(nan, -1), math.Inf(1), math.Inf(-1)} {
			x, col := make([]T, 4*stride+1), make([]float64, n+1)
			for i := range x {
				x[i] = T(nan)
			}
			for i := range 4 {
				for j := range n {
					x[i*stride+j] = T((i*37+j*11)%101 - 50)
				}
			}
			at := (n*7 + stride) % 4 * stride // which row has the odd one, and where
			if n > 0 {
				at += n * 5 / 3 % n
				x[at] = T(odd)
			}
			for j := range col {
				col[j] = float64(j)
			}
			wantCol, wantTop, want := append([]float64(nil), col...), 3.0, [4]float64{}
			for i := range 4 {
				for j, v := range x[i*stride:][:n] {
					a := math.Abs(float64(v))
					want[i] += a
					wantCol[j] += a
					wantTop = max(wantTop, a)
				}
			}
			fourCol, fourTop := append([]float64(nil), col...), 3.0
			rows := absFour(k, x, stride, fourCol[:n], &fourTop)
			oneCol, oneTop, ones, bits := append([]float64(nil), col...), 3.0, [4]float64{}, uint64(0)
			for i := range 4 {
				row := x[i*stride:][:n]
				ones[i] = AbsOne(row, oneCol[:n], &oneTop)
				bits = max(bits, topBits(k, row))
			}
			same := func(what string, got, want float64) {
				if got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
					t.Errorf("%T, %d columns, stride %d, %v at %d: %s is %v, want %v", x, n, stride, odd, at, what, got, want)
				}
			}
			for i := range 4 {
				same("a row of Four", rows[i], want[i])
				same("a row of One", ones[i], want[i])
			}
			for j := range wantCol {
				same("a column of Four", fourCol[j], wantCol[j])
				same("a column of One", oneCol[j], wantCol[j])
			}
			same("the largest of One", oneTop, wantTop)
			same("the largest of TopBits", max(3, math.Float64frombits(bits)), wantTop)
			if !math.IsNaN(wantTop) { // with a NaN that of Four may be anything
				same("the largest of Four", fourTop, wantTop)
			}
		}
	}
}
