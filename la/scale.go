package la

import (
	"math"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/tiles"
)

// middle is the largest exponent, in either direction, of a matrix whose products with vectors of
// about 1 stay far from the ends of the range.
const middle = 500

// scaleByPower multiplies a by 2^exp.
func scaleByPower[T Element](a *blocked.Matrix[T], exp int) {
	exp = min(max(exp, -2000), 2000)
	for _, e := range []int{exp / 2, exp - exp/2} { // one power may be out of range
		factor := math.Ldexp(1, e)
		for i, j := range a.StoredTiles() {
			t := a.Tile(i, j)
			for r := range t.Rows {
				for c, v := range t.Row(r) {
					t.Row(r)[c] = T(float64(v) * factor)
				}
			}
		}
	}
}

// centredColumns returns b with the columns near the ends of the range scaled to about 1 by
// powers of two, and the exponents that scale solutions back; b itself and nil if there are none.
// As A is in the range of float32, neither x nor the residual then overflows or loses digits.
func centredColumns(b *blocked.Matrix[float64], workers int) (near *blocked.Matrix[float64], back []int) {
	const far = 800
	tops := b.ColumnMax(workers)
	exps := make([]int, len(tops))
	for j, v := range tops {
		if e := exponent(v); e < -far || e > far {
			if back == nil {
				back = make([]int, len(tops))
			}
			exps[j], back[j] = -e, e
		}
	}
	if back == nil {
		return b, nil
	}
	m, n := b.Dims()
	near = blocked.New[float64](blocked.Full, m, n, b.NB())
	shiftColumns(near, b, exps, workers)
	return near, back
}

// exponent returns the exponent of v as math.Frexp does, 0 if v is not finite.
func exponent(v float64) int {
	if v-v != 0 {
		return 0
	}
	_, e := math.Frexp(v)
	return e
}

// shiftColumns sets each column j of dst to 2^exps[j] times that of src. dst may be src.
func shiftColumns[T Element](dst, src *blocked.Matrix[T], exps []int, workers int) {
	// In two steps: one power may be out of range where its product is not.
	first, second := make([]float64, len(exps)), make([]float64, len(exps))
	for j, e := range exps {
		e = min(max(e, -2000), 2000)
		first[j], second[j] = math.Ldexp(1, e/2), math.Ldexp(1, e-e/2)
	}
	tiles.ScaleColumns(dst, src, first, false, workers)
	tiles.ScaleColumns(dst, dst, second, false, workers)
}
