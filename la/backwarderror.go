package la

import (
	"math"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/tiles"
	"gonum.org/v1/gonum/lapack"
)

// middle is the exponent up to which, in either direction, a matrix can be
// multiplied by vectors of about 1 with nothing coming near the ends of the range.
const middle = 500

// backwardError returns the largest backward error of the columns of x as
// solutions for those of b. Powers of two, which do not change it, bring A, b and
// x into the middle of the range first: otherwise ‖A‖∞·‖x‖∞ or a product in A·x
// might overflow, and the residual of a small b vanish.
func (s *refiner) backwardError(b, x *blocked.Matrix[float64]) (float64, error) {
	workers := s.engine.options().Workers
	norm := s.norm
	if norm == 0 || norm-norm != 0 {
		norm = s.a.Norm(infinityNorm(s.trans), workers)
	}
	if norm-norm != 0 {
		norm = s.a.Norm(lapack.MaxAbs, workers) // a sum has overflowed
	}
	size, moved := exponent(norm), 0
	t := *s
	t.norm = norm
	if size < -middle || size > middle {
		moved = max(size, -1000) // so that its power of two is in range
		t.shift(-moved)
	}
	xTop, bTop := x.ColumnMax(workers), b.ColumnMax(workers)
	xExps, bExps := make([]int, len(xTop)), make([]int, len(xTop))
	for j := range xTop {
		e := exponent(xTop[j])
		if bTop[j] != 0 && (xTop[j] == 0 || exponent(bTop[j])-size > e) {
			e = exponent(bTop[j]) - size
		}
		xExps[j], bExps[j] = -e, -e-moved
	}
	n, nrhs := b.Dims()
	y, c := blocked.New[float64](blocked.Full, n, nrhs, x.NB()), blocked.New[float64](blocked.Full, n, nrhs, b.NB())
	shiftColumns(y, x, xExps, workers)
	shiftColumns(c, b, bExps, workers)
	r := blocked.New[float64](blocked.Full, n, nrhs, b.NB())
	if err := t.residual(r, c, y); err != nil {
		return 0, err
	}
	_, backward := t.judge(r.ColumnMax(workers), y.ColumnMax(workers), c.ColumnMax(workers))
	return backward, nil
}

// shift replaces A by a copy times two to the power given.
func (s *refiner) shift(exp int) {
	workers := s.engine.options().Workers
	a, _ := blocked.From[float64](s.a, s.a.Kind(), s.a.NB(), s.engine.copying(false))
	multiply(a, exp)
	s.a = a
	if s.diag != nil {
		s.diag = blocked.NewDiagonal(a, workers)
	}
	s.norm = a.Norm(infinityNorm(s.trans), workers)
}

// multiply multiplies a by two to the power given.
func multiply[T Element](a *blocked.Matrix[T], exp int) {
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

// centred returns b with the columns that are near the ends of the range brought
// to about 1 by powers of two, and the exponents that bring solutions back; or b
// itself and nil if there are none. A being in the range of float32, neither
// x nor the residual then overflows or loses digits.
func centred(b *blocked.Matrix[float64], workers int) (near *blocked.Matrix[float64], back []int) {
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

// exponent returns the exponent of v as math.Frexp does, 0 if it is not finite.
func exponent(v float64) int {
	if v-v != 0 {
		return 0
	}
	_, e := math.Frexp(v)
	return e
}

// shiftColumns sets the columns of dst to those of src, which may be dst, times
// two to the powers given.
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
