package qr_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/internal/blockedtest"
	"github.com/tessera-la/tessera/blocked/qr"
	"github.com/tessera-la/tessera/kernels/op"
)

// testMulVec compares products of Q and a vector with those of the Q that Orgqr has made.
func testMulVec[T blocked.Element](t *testing.T, what string, f *blocked.Matrix[T], q *qr.Rotations[T], all *blocked.Matrix[T]) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(3, 3))
	m, _ := f.Dims()
	w := make([]T, q.IB())
	for i := range w {
		w[i] = T(math.NaN()) // nothing reads what was there
	}
	for _, transposed := range []bool{false, true} {
		x, want, top := make([]T, m), make([]float64, m), 0.0
		for i := range x {
			x[i] = T(rnd.NormFloat64())
		}
		for i := range m {
			for j := range m {
				r, c := i, j
				if transposed {
					r, c = j, i
				}
				want[i] += float64(all.At(r, c)) * float64(x[j])
			}
			top = max(top, math.Abs(float64(x[i])))
		}
		if err := q.MulVec(op.HostVectors[T](), transposed, f, x, w, func() error { return nil }); err != nil {
			t.Fatal(err)
		}
		for i, v := range want {
			if e, most := math.Abs(float64(x[i])-v), 30*blockedtest.Roundoff[T]()*float64(m)*top; !(e <= most) {
				t.Fatalf("%s, transposed %v: element %d of Q·x is %g, want %g", what, transposed, i, x[i], v)
			}
		}
	}
}

// TestMulVecEnds: the error of ready ends a product.
func TestMulVecEnds(t *testing.T) {
	end := errors.New("over")
	q := qr.NewRotations[float64](7, 5, 2, qr.RotationOptions{})
	left := 2
	err := q.MulVec(op.HostVectors[float64](), true, blocked.New[float64](blocked.Full, 7, 5, 2), make([]float64, 7), make([]float64, 2), func() error {
		if left--; left < 0 {
			return end
		}
		return nil
	})
	if err != end || left != -1 {
		t.Errorf("error %v, %d columns left", err, left)
	}
}
