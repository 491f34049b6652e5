package tiles_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/blocked/tiles"

	"github.com/tessera-la/tessera/blocked/internal/blockedtest"
	"gonum.org/v1/gonum/lapack"
)

// normRef is a norm by its definition; the Frobenius norm divides by the
// largest element first.
func normRef[T tiles.Element](a *tiles.Matrix[T], norm lapack.MatrixNorm) float64 {
	m, n := a.Dims()
	cols, rows := make([]float64, n), make([]float64, m)
	top := 0.0
	for i := range m {
		for j := range n {
			v := math.Abs(float64(a.At(i, j)))
			cols[j] += v
			rows[i] += v
			top = max(top, v)
		}
	}
	switch norm {
	case lapack.MaxAbs:
		return top
	case lapack.MaxColumnSum:
		rows = cols
		fallthrough
	case lapack.MaxRowSum:
		s := 0.0
		for _, v := range rows {
			s = max(s, v)
		}
		return s
	}
	if top == 0 || top-top != 0 {
		return top
	}
	s := 0.0
	for i := range m {
		for j := range n {
			v := float64(a.At(i, j)) / top
			s += v * v
		}
	}
	return top * math.Sqrt(s)
}

var norms = []lapack.MatrixNorm{lapack.MaxAbs, lapack.MaxColumnSum, lapack.MaxRowSum, lapack.Frobenius}

func testNorm[T tiles.Element](t *testing.T, scales ...float64) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, s := range matrixSizes {
		for _, kind := range blockedtest.AllKinds() {
			if kind != tiles.Full && s.m != s.n {
				continue
			}
			for _, scale := range scales {
				stride := max(1, s.n) + 1
				g := tiles.General[T]{Rows: s.m, Cols: s.n, Stride: stride, Data: blockedtest.Filled[T](s.m * stride)}
				for i := range s.m {
					for j := range s.n {
						g.Set(i, j, T(rnd.NormFloat64()*scale))
					}
				}
				a, _ := tiles.From[T](g, kind, s.nb, tiles.CopyOptions{})
				for _, norm := range norms {
					got, want := a.Norm(norm, 0), normRef(a, norm)
					if math.Abs(got-want) > 1e-14*float64(s.m+s.n+1)*want || math.IsNaN(got) {
						t.Errorf("%v %d×%d, nb %d, scale %g: %c-norm %v, want %v", kind, s.m, s.n, s.nb, scale, norm, got, want)
					}
				}
			}
		}
	}
}

func TestNorm(t *testing.T) {
	t.Run("float64", func(t *testing.T) { testNorm[float64](t, 0, 1, 1e-160, 1e-300, 1e160, 1e300) })
	t.Run("float32", func(t *testing.T) { testNorm[float32](t, 0, 1, 1e-40, 1e37) })
}

// Elements of all magnitudes in one matrix, in different tiles or one.
func TestNormFrobeniusGraded(t *testing.T) {
	for _, nb := range []int{1, 2, 50} {
		for _, kind := range blockedtest.AllKinds() {
			a := tiles.New[float64](kind, 20, 20, nb)
			for i := range 20 {
				a.Set(i, i, math.Ldexp(1.5, 53*i-1060))
			}
			for _, top := range []float64{0, 0x1p600, 0x1p1022} {
				a.Set(3, 3, top)
				got, want := a.Norm(lapack.Frobenius, 1), normRef(a, lapack.Frobenius)
				if math.Abs(got-want) > 1e-14*want {
					t.Errorf("%v, nb %d: %v, want %v", kind, nb, got, want)
				}
			}
		}
	}
}

func TestNormNonFinite(t *testing.T) {
	for _, kind := range blockedtest.AllKinds() {
		for _, norm := range norms {
			a := tiles.New[float64](kind, 9, 9, 4)
			a.Set(5, 5, math.Inf(-1))
			if got := a.Norm(norm, 0); !math.IsInf(got, 1) {
				t.Errorf("%v: %c-norm with -Inf is %v", kind, norm, got)
			}
			for _, i := range []int{0, 4, 8} {
				b := a.Clone()
				b.Set(i, i, math.NaN())
				if got := b.Norm(norm, 0); !math.IsNaN(got) {
					t.Errorf("%v: %c-norm with NaN is %v", kind, norm, got)
				}
			}
		}
	}
	a := tiles.New[float64](tiles.Full, 2, 2, 1)
	if got := blockedtest.Recovered(func() { a.Norm('x', 0) }); got != tiles.ErrKind {
		t.Error("panic", got)
	}
}

func TestNormParallelIsSequential(t *testing.T) {
	for _, s := range samples[float64](520, 520, 1, 64) {
		a, ok := s.src.(*tiles.Matrix[float64])
		if !ok {
			continue
		}
		for _, norm := range norms {
			if p, q := a.Norm(norm, 1), a.Norm(norm, 4); p != q {
				t.Errorf("%s: %c-norm %v with one worker, %v with 4", s.name, norm, p, q)
			}
		}
	}
}
