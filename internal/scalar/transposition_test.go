package scalar

import (
	"testing"

	"gonum.org/v1/gonum/blas"
)

// apply returns op(A) of a 2×2 matrix.
func apply(t Transposition, a [2][2]complex128) [2][2]complex128 {
	if t&Transposed != 0 {
		a[0][1], a[1][0] = a[1][0], a[0][1]
	}
	if t&Conjugated != 0 {
		for i := range a {
			for j, v := range a[i] {
				a[i][j] = complex(real(v), -imag(v))
			}
		}
	}
	return a
}

// TestTransposition: Flip and Compose are what they say of complex matrices, and of real ones what
// BLAS calls them.
func TestTransposition(t *testing.T) {
	a := [2][2]complex128{{1 + 2i, 3 + 4i}, {5 + 6i, 7 + 8i}}
	flags := []blas.Transpose{blas.NoTrans, blas.Trans, blas.ConjTrans}
	for _, s := range flags {
		of := TranspositionOf(s)
		if apply(of.Flip(), a) != apply(Transposed, apply(of, a)) {
			t.Errorf("%c flipped is %v", s, of.Flip())
		}
		if flat := Flip[float64](s); (flat == blas.NoTrans) != (s != blas.NoTrans) || flat == blas.ConjTrans {
			t.Errorf("%c flipped is %c of real elements", s, flat)
		}
		for _, r := range flags {
			both := TranspositionOf(r).Compose(of)
			if apply(both, a) != apply(TranspositionOf(r), apply(of, a)) {
				t.Errorf("%c of %c is %v", r, s, both)
			}
			if c := Compose[float32](r, s); c != BLAS[float32](both) || (c == blas.NoTrans) != ((r == blas.NoTrans) == (s == blas.NoTrans)) {
				t.Errorf("%c of %c is %c of real elements", r, s, c)
			}
		}
	}
}
