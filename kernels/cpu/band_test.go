package cpu_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/kernels/cpu"
	"gonum.org/v1/gonum/blas"
)

// bandCase is a band matrix and its elements in a dense one.
type bandCase[T cpu.Element] struct {
	n, kl, ku int
	dense     []float64
}

// newBandCase returns a random band matrix. Its diagonal is multiplied by diagonal.
func newBandCase[T cpu.Element](n, kl, ku int, diagonal float64, symmetric bool, rnd *rand.Rand) bandCase[T] {
	c := bandCase[T]{n, kl, ku, make([]float64, n*n)}
	for i := range n {
		for j := max(0, i-kl); j < min(n, i+ku+1); j++ {
			v := float64(T(rnd.NormFloat64()))
			if i == j {
				v = diagonal * (1 + math.Abs(v))
			}
			c.dense[i*n+j] = v
			if symmetric {
				c.dense[i*n+j] = c.dense[min(i, j)*n+max(i, j)]
			}
		}
	}
	return c
}

// band returns the elements of c on and above diagonal -kl in a band with room for those of the factors. What has no
// element is NaN.
func (c bandCase[T]) band(lower, upper, kl int) *cpu.Band[T] {
	b := &cpu.Band[T]{N: c.n, Lower: lower, Upper: upper, Data: make([]T, c.n*(lower+upper+1))}
	for i := range c.n {
		for j := i - lower; j <= i+upper; j++ {
			at := i*(lower+upper+1) + lower + j - i
			switch {
			case j < 0 || j >= c.n:
				b.Data[at] = T(math.NaN())
			case j >= i-kl:
				b.Data[at] = T(c.dense[i*c.n+j])
			}
		}
	}
	return b
}

// residual returns ‖B − op(A)·X‖/(‖A‖·‖X‖·n·ε) in the largest elements.
func (c bandCase[T]) residual(trans bool, x, b []T, nrhs, ld int, eps float64) float64 {
	worst, top, size := 0.0, 0.0, 0.0
	for i := range c.n {
		for r := range nrhs {
			s := float64(b[i*ld+r])
			for j := range c.n {
				a := c.dense[i*c.n+j]
				if trans {
					a = c.dense[j*c.n+i]
				}
				s -= a * float64(x[j*ld+r])
				top = max(top, math.Abs(a))
			}
			worst, size = max(worst, math.Abs(s)), max(size, math.Abs(float64(x[i*ld+r])))
		}
	}
	return worst / (top*size*eps*float64(min(c.n, c.kl+c.ku+2)) + 1e-300)
}

// crewOf returns a crew of goroutines, one for each part.
func crewOf[T cpu.Element]() cpu.Crew[T] {
	return func(parts, work int, f func(part, parts int, work []T)) {
		done := make(chan bool)
		for i := range parts {
			go func() {
				f(parts-1-i, parts, make([]T, work))
				done <- true
			}()
		}
		for range parts {
			<-done
		}
	}
}

// randomVector returns n random elements.
func randomVector[T cpu.Element](rnd *rand.Rand, n int) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = T(rnd.NormFloat64())
	}
	return x
}

func testBands[T cpu.Element](t *testing.T, eps float64) {
	rnd := rand.New(rand.NewPCG(1, 2))
	r := cpu.Fastest[T](cpu.Caches{})
	lu := cpu.NewLU[T](r, cpu.Caches{})
	alone, many := cpu.NewBands[T](r, lu, nil), cpu.NewBands[T](r, lu, crewOf[T]())
	sizes := [][3]int{{1, 0, 0}, {1, 3, 2}, {2, 1, 1}, {5, 0, 2}, {5, 2, 0}, {9, 1, 1}, {30, 3, 5}, {60, 32, 7}, {61, 33, 5},
		{50, 60, 70}, {150, 40, 90}, {130, 129, 129}, {300, 70, 10}, {500, 35, 210}, {450, 220, 220}}
	for _, s := range sizes {
		n, kl, ku := s[0], s[1], s[2]
		for _, diagonal := range []float64{1e-3, 1, float64(kl + ku + 1)} {
			c := newBandCase[T](n, kl, ku, diagonal, false, rnd)
			what := fmt.Sprintf("n %d, kl %d, ku %d, diagonal ×%g", n, kl, ku, diagonal)
			lower, upper := cpu.GbtrfRoom(kl, ku)
			a, b := c.band(lower, upper, kl), c.band(lower, upper, kl)
			p, q := make([]int, n), make([]int, n)
			work := make([]T, alone.GbtrfWork(kl, ku, 9))
			if info := alone.Gbtrf(kl, ku, a, p, work); info != 0 {
				t.Errorf("%s: info %d", what, info)
			}
			many.Gbtrf(kl, ku, b, q, work)
			if !slices.EqualFunc(a.Data, b.Data, func(x, y T) bool { return x == y || x != x && y != y }) || fmt.Sprint(p) != fmt.Sprint(q) {
				t.Errorf("%s: a crew changes bits of LU", what)
			}
			for _, nrhs := range []int{1, 2, 9} {
				ld := nrhs
				if nrhs == 2 {
					ld = 4
				}
				for _, trans := range []blas.Transpose{blas.NoTrans, blas.Trans} {
					x := randomVector[T](rnd, n*ld)
					want := append([]T(nil), x...)
					alone.Gbtrs(trans, kl, ku, a, p, nrhs, x, ld, work)
					if r := c.residual(trans == blas.Trans, x, want, nrhs, ld, eps); !(r < 30) {
						t.Errorf("%s, %d right-hand sides, %c: residual %.3g", what, nrhs, trans, r)
					}
				}
			}
		}
		k := ku
		c := newBandCase[T](n, k, k, float64(2*k+2)*2, true, rnd)
		what := fmt.Sprintf("symmetric, n %d, k %d", n, k)
		a, b := c.band(0, cpu.PbtrfRoom(k), 0), c.band(0, cpu.PbtrfRoom(k), 0)
		work := make([]T, alone.PbtrfWork(k, 9))
		if info := alone.Pbtrf(k, a, work); info != 0 {
			t.Errorf("%s: info %d", what, info)
		}
		many.Pbtrf(k, b, work)
		if !slices.EqualFunc(a.Data, b.Data, func(x, y T) bool { return x == y || x != x && y != y }) {
			t.Errorf("%s: a crew changes bits of Cholesky", what)
		}
		for _, nrhs := range []int{1, 2, 9} {
			x := randomVector[T](rnd, n*nrhs)
			want := append([]T(nil), x...)
			alone.Pbtrs(k, a, nrhs, x, nrhs, work)
			if r := c.residual(false, x, want, nrhs, nrhs, eps); !(r < 30) {
				t.Errorf("%s, %d right-hand sides: residual %.3g", what, nrhs, r)
			}
		}
		// The first minor that is not positive is that of the first row with a negative diagonal.
		bad := n / 2
		c.dense[bad*n+bad] = -1
		if info := alone.Pbtrf(k, c.band(0, cpu.PbtrfRoom(k), 0), work); info != bad+1 {
			t.Errorf("%s: minor %d is not positive, got %d", what, bad+1, info)
		}
	}
}

func TestBands(t *testing.T) {
	t.Run("float64", func(t *testing.T) { testBands[float64](t, 0x1p-53) })
	t.Run("float32", func(t *testing.T) { testBands[float32](t, 0x1p-24) })
}

// TestBandSingular: a zero column gives its number, and the factorization is complete.
func TestBandSingular(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	r := cpu.Fastest[float64](cpu.Caches{})
	bands := cpu.NewBands[float64](r, cpu.NewLU[float64](r, cpu.Caches{}), nil)
	for _, k := range []int{1, 5, 40} {
		n := 100
		c := newBandCase[float64](n, k, k, 1, false, rnd)
		for i := range n {
			c.dense[i*n+57] = 0
		}
		lower, upper := cpu.GbtrfRoom(k, k)
		a := c.band(lower, upper, k)
		info := bands.Gbtrf(k, k, a, make([]int, n), make([]float64, bands.GbtrfWork(k, k, 1)))
		if info != 58 {
			t.Errorf("k %d: column %d is zero, got %d", k, 58, info)
		}
	}
}
