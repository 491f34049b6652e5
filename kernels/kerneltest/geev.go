package kerneltest

import (
	"fmt"
	"math"
	"math/cmplx"
	"testing"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
)

// general returns matrices whose eigenvalues are hard to find in some way, beside those of spectral.
func (s *suite[T]) general(n int) []recipe {
	return append(s.spectral(), []recipe{
		{"permutation", func(i, j int) float64 { return float64(max(0, 1-abs((i+1)%n-j))) }},
		{"Jordan", func(i, j int) float64 { return float64(max(0, 1-abs(i+i-j-j+1)/2)) }},
		{"companion", func(i, j int) float64 {
			if i == 0 {
				return s.rnd.NormFloat64()
			}
			return float64(max(0, 1-abs(i-1-j)))
		}},
		{"Grcar", func(i, j int) float64 {
			switch {
			case j == i-1:
				return -1
			case j >= i && j <= i+3:
				return 1
			}
			return 0
		}},
		{"Frank", func(i, j int) float64 {
			if j < i-1 {
				return 0
			}
			return float64(n - max(i, j))
		}},
		{"steep", func(i, j int) float64 { // vectors overflow unless they are scaled
			switch j {
			case i:
				return 1
			case i + 1:
				return 1e8
			}
			return 0
		}},
		{"graded", func(i, j int) float64 { return s.rnd.NormFloat64() * math.Exp2(-float64(i+j)/2) }},
		{"unbalanced", func(i, j int) float64 { return s.rnd.NormFloat64() * math.Exp2(float64((i*7%11-j*7%11)*2)) }},
		{"triangular", func(i, j int) float64 { return s.rnd.NormFloat64() * float64(min(1, max(0, j-i+1))) }},
		{"blocks", func(i, j int) float64 { return s.rnd.NormFloat64() * float64(max(0, 1-abs(i/5-j/5))) }},
		{"almost symmetric", func(i, j int) float64 { return math.Sin(float64(i*j+i+j)) + s.rnd.NormFloat64()*1e-9 }},
		{"rotation", func(i, j int) float64 { return float64(j-i) / float64(n) }}, // skew, all eigenvalues but two are zero
	}...)
}

func abs(i int) int { return max(i, -i) }

// Geev judges by residuals, norms, and the order of pairs, and values alone by the trace.
func (s *suite[T]) Geev(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 4, 16, 33, 66, 130} {
		for _, c := range s.general(max(n, 1)) {
			if n > 60 && c.name != "random" && c.name != "companion" && c.name != "Grcar" && c.name != "unbalanced" && c.name != "blocks" {
				continue
			}
			a := newTile[T](n, n, 2)
			for i, j := range cells(n, n) {
				a.Set(i, j, T(c.at(i, j)))
			}
			was := clone(a)
			u, v, w := newTile[T](n, n, 3), newTile[T](n, n, 1), newTile[T](2, n, 1)
			s.mark(u, func(int, int) bool { return true })
			s.mark(v, func(int, int) bool { return true })
			beforeU, beforeV := clone(u), clone(v)
			s.must(t, &op.Geev{Left: true, Right: true}, clone(was), w, u, v)
			untouched(t, "geev: U", u, beforeU, func(i, j int) bool { return true })
			untouched(t, "geev: V", v, beforeV, func(i, j int) bool { return true })
			residual, norm := generalErrors(was, w, u, v)
			if !(residual < 30) {
				t.Errorf("%s, n = %d: residual %.3g", c.name, n, residual)
			}
			checkPairs(t, fmt.Sprintf("%s, n = %d", c.name, n), w, u, v)

			right, again := newTile[T](n, n, 1), newTile[T](2, n, 1)
			s.must(t, &op.Geev{Right: true}, clone(was), again, right)
			for i, j := range cells(n, n) {
				if right.At(i, j) != v.At(i, j) {
					t.Fatalf("%s, n = %d: right vectors alone are not those with left ones", c.name, n)
				}
			}
			alone := newTile[T](2, n, 1)
			s.must(t, &op.Geev{}, clone(was), alone)
			trace, sum := 0.0, 0.0
			for i := range n {
				trace += float64(was.At(i, i)) / norm
				sum += float64(alone.At(0, i)) / norm
			}
			if !(math.Abs(trace-sum) <= 30*float64(n)*2*eps[T]()) {
				t.Errorf("%s, n = %d: values alone have sum %v of the norm, the trace is %v", c.name, n, sum, trace)
			}
		}
	}
	s.work(t, (10/3.+17+4/3.+4)*27, &op.Geev{Left: true, Right: true}, newTile[T](3, 3, 0), newTile[T](2, 3, 0), newTile[T](3, 3, 0), newTile[T](3, 3, 0))
	s.work(t, 270, &op.Geev{}, newTile[T](3, 3, 0), newTile[T](2, 3, 0))
}

// generalErrors returns the largest element of A·v − λ·v and uᴴ·A − λ·uᴴ in units of n·‖A‖·ε, and that norm.
func generalErrors[T kernels.Element](a, w, u, v *kernels.Tile[T]) (residual, norm float64) {
	n := a.Rows
	for _, x := range a.Data {
		if !math.IsNaN(float64(x)) { // beside the matrix
			norm = max(norm, math.Abs(float64(x)))
		}
	}
	if norm *= math.Sqrt(float64(n)); norm == 0 {
		norm = 1
	}
	b := make([]float64, n*n)
	for i, j := range cells(n, n) {
		b[i*n+j] = float64(a.At(i, j)) / norm
	}
	re, im := make([]float64, n), make([]float64, n)
	for k := range n {
		l := complex(float64(w.At(0, k))/norm, float64(w.At(1, k))/norm)
		for _, x := range []*kernels.Tile[T]{v, u} {
			row, col := n, 1
			if x == u {
				row, col = 1, n
			}
			for i := range n {
				y := vector(w, x, k, i)
				if x == u {
					y = cmplx.Conj(y)
				}
				re[i], im[i] = real(y), imag(y)
			}
			for i := range n {
				r := -l * complex(re[i], im[i])
				for j := range n {
					r += complex(b[i*row+j*col]*re[j], b[i*row+j*col]*im[j])
				}
				residual = max(residual, cmplx.Abs(r))
			}
		}
	}
	return residual / (float64(max(n, 1)) * 2 * eps[T]()), norm
}

// vector returns element i of eigenvector k.
func vector[T kernels.Element](w, x *kernels.Tile[T], k, i int) complex128 {
	switch im := w.At(1, k); {
	case im > 0:
		return complex(float64(x.At(k, i)), float64(x.At(k+1, i)))
	case im < 0:
		return complex(float64(x.At(k-1, i)), -float64(x.At(k, i)))
	}
	return complex(float64(x.At(k, i)), 0)
}

// checkPairs fails t unless complex values come in pairs, and all vectors have norm 1 and a real element that is the
// largest one.
func checkPairs[T kernels.Element](t *testing.T, what string, w, u, v *kernels.Tile[T]) {
	t.Helper()
	n := w.Cols
	for k := 0; k < n; k++ {
		im := w.At(1, k)
		for _, x := range []*kernels.Tile[T]{u, v} {
			norm, most, most1 := 0.0, 0.0, 0.0
			for i := range n {
				y := vector(w, x, k, i)
				norm += real(y)*real(y) + imag(y)*imag(y)
				most = max(most, cmplx.Abs(y))
				if imag(y) == 0 {
					most1 = max(most1, cmplx.Abs(y))
				}
			}
			if !(math.Abs(norm-1) <= 8*float64(n)*eps[T]()) || !(most1 >= most*(1-16*eps[T]())) {
				t.Errorf("%s: vector %d has norm² %v, and its largest element is %v, the largest real one %v", what, k, norm, most, most1)
			}
		}
		if im == 0 {
			continue
		}
		if im < 0 || k+1 == n || w.At(1, k+1) != -im || w.At(0, k+1) != w.At(0, k) {
			t.Errorf("%s: value %d is not the first one of a pair", what, k)
		}
		k++
	}
}
