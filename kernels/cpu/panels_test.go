package cpu

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/tessera-la/tessera/internal/sorted"
	"github.com/tessera-la/tessera/kernels/cpu/isa"
	"github.com/tessera-la/tessera/kernels/cpu/native"
)

// withPanels is the panels of every instruction set that this processor and
// build have.
func withPanels[T Element]() map[string]panels[T] {
	all := map[string]panels[T]{}
	for _, set := range native.Here() {
		if k := isa.Of[T](set); k.QRDots != nil {
			all[set.Name] = panels[T]{k}
		}
	}
	return all
}

// The kernels on panels agree with those in Go for every number of rows that
// is left over, and touch nothing but the rows.
func TestPanels(t *testing.T) {
	t.Run("float64", testPanels[float64])
	t.Run("float32", testPanels[float32])
}

func testPanels[T Element](t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	eps := 0x1p-50
	if unsafe.Sizeof(*new(T)) == 4 {
		eps = 0x1p-21
	}
	for name, ps := range sorted.Map(withPanels[T]()) {
		k := ps.width()
		for m := range 14 {
			for _, lda := range []int{k, 3 * k} {
				for c := range k - 1 {
					a := make([]T, (m+1)*lda)
					for i := range a {
						a[i] = T(rnd.NormFloat64())
					}
					var w, dots, wantDots rowVector[T]
					for j := range w {
						w[j] = T(rnd.NormFloat64())
						if j <= c {
							w[j] = 0
						}
					}
					want := append([]T(nil), a...)
					check := func(what string) {
						t.Helper()
						for i := range a {
							if d := math.Abs(float64(a[i] - want[i])); !(d <= 8*eps) {
								t.Fatalf("%s: %s, m=%d lda=%d column %d: element (%d, %d) is %v, want %v", name, what, m, lda, c, i/lda, i%lda, a[i], want[i])
							}
						}
						for j := range k {
							if d := math.Abs(float64(dots[j] - wantDots[j])); !(d <= 1000*eps) {
								t.Fatalf("%s: %s, m=%d lda=%d column %d: product %d is %v, want %v", name, what, m, lda, c, j, dots[j], wantDots[j])
							}
						}
					}
					x, y := panelRows[T]{a, lda, m, k}, panelRows[T]{want, lda, m, k}
					ps.dots(x, c, &dots)
					y.dots(c, &wantDots)
					check("dots")
					ps.reflect(x, c, &w, &dots)
					y.reflect(c, &w, &wantDots)
					check("reflect")
					ps.scale(x, &w)
					y.scale(&w)
					check("scale")
				}
			}
		}
	}
}

// Blocks of all widths are copied and subtracted, and nothing beside them.
func TestPanelBlocks(t *testing.T) {
	t.Run("float64", testPanelBlocks[float64])
	t.Run("float32", testPanelBlocks[float32])
}

func testPanelBlocks[T Element](t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	for name, ps := range sorted.Map(withPanels[T]()) {
		for n := range 120 {
			for _, m := range []int{0, 1, 3} {
				ldc, ldx := n+rnd.IntN(5), n+rnd.IntN(5)
				c, x := randomSlice[T](m*ldc+9), randomSlice[T](m*ldx+9)
				want := append([]T(nil), c...)
				panels[T]{new(isa.Kernels[T])}.subtract(want, ldc, x, ldx, m, n)
				ps.subtract(c, ldc, x, ldx, m, n)
				for i := range c {
					if c[i] != want[i] {
						t.Fatalf("%s: subtract m=%d n=%d: element %d is %v, want %v", name, m, n, i, c[i], want[i])
					}
				}
				panels[T]{new(isa.Kernels[T])}.copy(want, ldc, x, ldx, m, n)
				ps.copy(c, ldc, x, ldx, m, n)
				for i := range c {
					if c[i] != want[i] {
						t.Fatalf("%s: copy m=%d n=%d: element %d is %v, want %v", name, m, n, i, c[i], want[i])
					}
				}
			}
		}
	}
}

// Reflectors are right for numbers of every size, in both ways that they are
// computed.
func TestReflector(t *testing.T) {
	for _, alpha := range []float64{0, 1, -3, 0x1p-1070, 0x1p1000, -0x1p-600} {
		for _, x := range [][]float64{{}, {0}, {1, 2}, {0x1p-1070, 0x1p-1071}, {0x1p900, -0x1p1000}, {0x1p-300, 0x1p-310}} {
			v := append([]float64(nil), x...)
			col := column[float64]{full: panelRows[float64]{v, 1, len(v), 1}, lda: 1}
			tau, beta := col.safeReflector(alpha, 0)
			norm := math.Abs(alpha)
			for _, y := range x {
				norm = math.Hypot(norm, y)
			}
			if math.Abs(math.Abs(beta)-norm) > 0x1p-50*norm {
				t.Errorf("[%v; %v]: beta %v, want ±%v", alpha, x, beta, norm)
			}
			// H is orthogonal: τ·(1 + vᵀv) = 2, or it is I.
			sum := 1.0
			for _, y := range v {
				sum += y * y
			}
			if math.Abs(tau*sum-2) > 0x1p-50 && tau != 0 {
				t.Errorf("[%v; %v]: tau %v for v %v", alpha, x, tau, v)
			}
			if zero := norm == math.Abs(alpha) && (len(x) == 0 || x[0] == 0); zero != (tau == 0) {
				t.Errorf("[%v; %v]: tau %v", alpha, x, tau)
			}
			dot := sum - 1
			if wellScaled(alpha, dot) && tau != 0 {
				t2, b2, f := reflector(alpha, dot)
				if math.Abs(t2*(1+f*f*dot)-2) > 0x1p-49 || !(math.Abs(b2) > 0) {
					t.Errorf("reflector(%v, %v) = %v, %v, %v", alpha, dot, t2, b2, f)
				}
			}
		}
	}
}

// Blocks are cut into equal parts, or not at all.
func TestBlockPart(t *testing.T) {
	for ib := 1; ib < 300; ib++ {
		for _, most := range []int{32, 64} {
			p := blockPart(ib, most)
			if ib%p != 0 || p != ib && (p > most || 2*p < most) {
				t.Errorf("blockPart(%d, %d) = %d", ib, most, p)
			}
		}
	}
}

// Misuse of the QR routines panics with a constant.
func TestQRMisuse(t *testing.T) {
	q := NewQR[float64](Portable[float64]())
	x := make([]float64, 100)
	for name, c := range map[string]struct {
		want Error
		f    func()
	}{
		"no block":        {ErrBlock, func() { q.Geqrt(4, 4, 0, x, 4, x, 4, x) }},
		"negative":        {ErrDim, func() { q.Geqrt(-1, 4, 2, x, 4, x, 4, x) }},
		"short A":         {ErrShort, func() { q.Geqrt(40, 4, 2, x, 4, x, 4, x) }},
		"short T":         {ErrShort, func() { q.Geqrt(4, 4, 3, x, 4, x[:10], 4, x) }},
		"stride of T":     {ErrStride, func() { q.Geqrt(4, 4, 3, x, 4, x, 3, x) }},
		"work":            {ErrWork, func() { q.Geqrt(4, 4, 3, x, 4, x, 4, nil) }},
		"many reflectors": {ErrDim, func() { q.Gemqrt('L', 'N', 4, 4, 5, 2, x, 5, x, 5, x, 4, x) }},
		"side":            {ErrSide, func() { q.Gemqrt('X', 'N', 4, 4, 4, 2, x, 4, x, 4, x, 4, x) }},
		"transpose":       {ErrTranspose, func() { q.Tpmqrt('L', 'X', 4, 4, 4, 0, 2, x, 4, x, 4, x, 4, x, 4, x) }},
		"half a triangle": {ErrL, func() { q.Tpqrt(4, 4, 2, 2, x, 4, x, 4, x, 4, x) }},
		"high triangle":   {ErrL, func() { q.Tpqrt(5, 4, 5, 2, x, 4, x, 4, x, 4, x) }},
	} {
		func() {
			defer func() {
				if got := recover(); got != c.want {
					t.Errorf("%s: panic %v, want %v", name, got, c.want)
				}
			}()
			c.f()
		}()
	}
}
