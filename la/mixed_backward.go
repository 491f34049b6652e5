package la

import (
	"github.com/tessera-la/tessera/blocked"
	"gonum.org/v1/gonum/lapack"
)

// backwardError returns the largest backward error of the columns of x as solutions for those of
// b. It scales A, b and x by powers of two to the middle of the range, which does not change the
// result: otherwise ‖A‖∞·‖x‖∞ or a product in A·x might overflow, and the residual of a small b
// underflow.
func (s *refiner) backwardError(b, x *blocked.Matrix[float64]) (float64, error) {
	workers := s.engine.Options().Workers
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
	_, backward := t.assess(r.ColumnMax(workers), y.ColumnMax(workers), c.ColumnMax(workers))
	return backward, nil
}

// shift replaces A by a copy times 2^exp.
func (s *refiner) shift(exp int) {
	workers := s.engine.Options().Workers
	a, _ := blocked.From[float64](s.a, s.a.Kind(), s.a.NB(), copying(s.engine))
	scaleByPower(a, exp)
	s.a = a
	if s.diag != nil {
		s.diag = blocked.NewDiagonal(a, workers)
	}
	s.norm = a.Norm(infinityNorm(s.trans), workers)
}
