package la

import (
	"sync"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/internal/scalar"
)

// keeping is the memory of large calls that have no value of their own to keep it in, from call to call until the
// collector takes it.
type keeping[T Element] struct {
	lu      sync.Pool // *LU[T] without a factorization
	qr      sync.Pool // *QR[T] without one
	inverse sync.Pool // *blocked.Matrix[T], TriLower, that [Cholesky.InverseTo] works in
}

var (
	kept64 = sync.OnceValue(newKeeping[float64])
	kept32 = sync.OnceValue(newKeeping[float32])
)

func newKeeping[T Element]() *keeping[T] {
	return &keeping[T]{lu: sync.Pool{New: func() any { return new(LU[T]) }}, qr: sync.Pool{New: func() any { return new(QR[T]) }}}
}

func kept[T Element]() *keeping[T] {
	return scalar.Pick[T](any(kept32), any(kept64)).(func() *keeping[T])()
}

// takeQR returns a QR that computes on e, with the memory of a former one if its rotations were made for as many cores. The
// caller calls leaveQR.
func (k *keeping[T]) takeQR(e *Engine) *QR[T] {
	q := k.qr.Get().(*QR[T])
	q.engine = e
	if q.spare != nil && q.spare.rotations.Options().Cores != e.Cores() {
		q.spare = nil
	}
	return q
}

// leaveQR ends the use of q.
func (k *keeping[T]) leaveQR(q *QR[T]) {
	q.Reset()
	q.engine = nil
	k.qr.Put(q)
}

// triangle returns a TriLower matrix of order n of any elements.
func (k *keeping[T]) triangle(n, nb int) *blocked.Matrix[T] {
	if w, ok := k.inverse.Get().(*blocked.Matrix[T]); ok && fits(w, n, n, nb) {
		return w
	}
	return blocked.New[T](blocked.TriLower, n, n, nb)
}
