package kerneltest

import (
	"errors"
	"math"
	"testing"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
)

// Chud judges by the products that the change keeps.
func (s *suite[T]) Chud(t *testing.T) {
	for n, k := range pairs([]int{0, 1, 2, 3, 5, 16, 33}, []int{0, 1, 2, 5}) {
		for _, down := range []bool{false, true} {
			u, x := s.factorAndRows(n, k)
			wasU, wasX := clone(u), clone(x)
			cos, sin := newTile[T](k, n, 1), newTile[T](k, n, 2)
			s.must(t, &op.Chud{Down: down}, u, x, cos, sin)
			untouched(t, "chud: U", u, wasU, func(i, j int) bool { return i <= j })
			if got := changeError(down, u, u, wasU, wasU, wasX, wasX); !(got <= 10*float64(n+k)*eps[T]()) {
				t.Errorf("n %d, k %d, down %v: residual %.3g", n, k, down, got)
			}
			for i := range n {
				if !(u.At(i, i) > 0) {
					t.Errorf("n %d, k %d: diagonal %d is %v", n, k, i, u.At(i, i))
				}
			}
		}
	}
	u, x := s.factorAndRows(4, 1)
	x.Set(0, 2, 2*u.At(2, 2)*2)
	x.Set(0, 0, 0)
	x.Set(0, 1, 0)
	err := s.run(&op.Chud{Down: true, Offset: 10}, u, x, newTile[T](1, 4, 0), newTile[T](1, 4, 0))
	if npd, ok := errors.AsType[*kernels.NotPositiveDefiniteError](err); !ok || npd.Minor != 13 {
		t.Errorf("error %v, want minor 13", err)
	}
	u, x = s.factorAndRows(5, 2)
	s.checkRepeatable(t, &op.Chud{}, u, x, newTile[T](2, 5, 0), newTile[T](2, 5, 0))
	s.work(t, 3*2*5*6, &op.Chud{}, u, x, newTile[T](2, 5, 0), newTile[T](2, 5, 0))
}

// Chudm applies the rotations of a tile on the diagonal.
func (s *suite[T]) Chudm(t *testing.T) {
	for m, n := range pairs([]int{0, 1, 3, 4, 9}, []int{0, 1, 2, 7, 33}) {
		for k, down := range pairs([]int{0, 1, 3}, []bool{false, true}) {
			u, x := s.factorAndRows(m, k)
			wasU, wasX := clone(u), clone(x)
			cos, sin := newTile[T](k, m, 1), newTile[T](k, m, 0)
			s.rotations(down, u, x, cos, sin)
			right, y := s.random(m, n, 1), s.random(k, n, 2)
			s.mark(right, nil)
			wasRight, wasY, wasCos, wasSin := clone(right), clone(y), clone(cos), clone(sin)
			s.must(t, &op.Chudm{Down: down}, cos, sin, right, y)
			untouched(t, "chudm: U", right, wasRight, func(int, int) bool { return true })
			untouched(t, "chudm: X", y, wasY, func(int, int) bool { return true })
			identical(t, "chudm: C", cos, wasCos)
			identical(t, "chudm: S", sin, wasSin)
			limit := 40 * float64(m+k) * eps[T]()
			if got := changeError(down, u, right, wasU, wasRight, wasX, wasY); !(got <= limit) {
				t.Errorf("%d×%d, k %d, down %v: U residual %.3g", m, n, k, down, got)
			}
			sign := 1.0
			if down {
				sign = -1
			}
			for j := range n {
				was, is, scale := 0.0, 0.0, 0.0
				for i := range m {
					was += float64(wasRight.At(i, j)) * float64(wasRight.At(i, j))
					is += float64(right.At(i, j)) * float64(right.At(i, j))
				}
				for i := range k {
					was += sign * float64(wasY.At(i, j)) * float64(wasY.At(i, j))
					is += sign * float64(y.At(i, j)) * float64(y.At(i, j))
					scale += float64(wasY.At(i, j)) * float64(wasY.At(i, j))
				}
				if !(math.Abs(was-is) <= limit*(1+is+2*scale)*2) {
					t.Errorf("%d×%d, k %d, down %v: column %d has %v, want %v", m, n, k, down, j, is, was)
				}
			}
		}
	}
	cos, sin, right, y := newTile[T](1, 4, 0), newTile[T](1, 4, 0), s.random(4, 5, 0), s.random(1, 5, 0)
	for i := range 4 {
		cos.Set(0, i, 0.8)
		sin.Set(0, i, 0.6)
	}
	s.checkRepeatable(t, &op.Chudm{}, cos, sin, right, y)
	s.work(t, 6*4*5, &op.Chudm{}, cos, sin, right, y)
}

// factorAndRows returns an upper triangular tile with a positive diagonal, and k rows that may be subtracted.
func (s *suite[T]) factorAndRows(n, k int) (u, x *kernels.Tile[T]) {
	u, x = newTile[T](n, n, 1), newTile[T](k, n, 2)
	for i := range n {
		for j := i; j < n; j++ {
			u.Set(i, j, T(s.rnd.Float64()-0.5))
		}
		u.Set(i, i, T(float64(n)+1+s.rnd.Float64()))
	}
	for i := range k {
		for j := range n {
			x.Set(i, j, T((s.rnd.Float64()-0.5)/2))
		}
	}
	return u, x
}

// rotations computes the rotations of op "chud" in the plainest way.
func (s *suite[T]) rotations(down bool, u, x, cosines, sines *kernels.Tile[T]) {
	for v := range x.Rows {
		for i := range u.Rows {
			a, b := float64(u.At(i, i)), float64(x.At(v, i))
			h := math.Hypot(a, b)
			c, sin := a/h, b/h
			if down {
				c, sin = math.Sqrt((1-b/a)*(1+b/a)), b/a
			}
			cosines.Set(v, i, T(c))
			sines.Set(v, i, T(sin))
			for j := i; j < u.Cols; j++ {
				a, b := float64(u.At(i, j)), float64(x.At(v, j))
				if down {
					a = (a - sin*b) / c
					u.Set(i, j, T(a))
				} else {
					u.Set(i, j, T(c*a+sin*b))
				}
				x.Set(v, j, T(c*b-sin*a))
			}
		}
	}
}

// changeError returns the largest element of U'ᵀ·V' − Uᵀ·V ∓ Xᵀ·Y by the largest of Uᵀ·V, or 1. U is upper triangular,
// and so is V if it is as wide.
func changeError[T kernels.Element](down bool, u1, v1, u0, v0, x, y *kernels.Tile[T]) float64 {
	sign := -1.0
	if down {
		sign = 1
	}
	worst, top := 0.0, 1.0
	for i := range u0.Cols {
		for j := range v0.Cols {
			d, size := 0.0, 0.0
			for l := range u0.Rows {
				if l > i || u1 == v1 && l > j {
					continue
				}
				d += float64(u1.At(l, i))*float64(v1.At(l, j)) - float64(u0.At(l, i))*float64(v0.At(l, j))
				size += float64(u0.At(l, i)) * float64(v0.At(l, j))
			}
			for l := range x.Rows {
				d += sign * float64(x.At(l, i)) * float64(y.At(l, j))
			}
			worst, top = max(worst, math.Abs(d)), max(top, math.Abs(size))
		}
	}
	return worst / top
}
