package cpu

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/internal/sorted"
)

// luOf returns LU routines on top of every implementation that this processor
// and build have, for caches of any size.
func luOf[T Element]() map[string]*LU[T] {
	all := map[string]*LU[T]{}
	for _, c := range []Caches{{}, {L2: 48 << 10}, {L2: 4 << 10}} {
		all[fmt.Sprintf("go, %d KiB", c.L2>>10)] = NewLU(Portable[T](), c)
		for name, p := range natives[T](c) {
			all[fmt.Sprintf("%s, %d KiB", name, c.L2>>10)] = NewLU(p, c)
		}
		if r, ok := BLAS[T](); ok {
			all[fmt.Sprintf("C, %d KiB", c.L2>>10)] = NewLU(r, c)
		}
	}
	return all
}

// panelOf returns a random m×n panel in blocks of some heights, the first of at
// least min(m, n).
func panelOf[T Element](rnd *rand.Rand, m, n int) []Block[T] {
	var a []Block[T]
	for h := min(m, n) + rnd.IntN(m-min(m, n)+1); ; h = rnd.IntN(m + 1) {
		ld := n + 1 + rnd.IntN(9)
		b := Block[T]{Rows: h, Stride: ld, Data: make([]T, h*ld)}
		for i := range b.Data {
			b.Data[i] = T(rnd.NormFloat64())
		}
		a = append(a, b)
		if m -= h; m == 0 {
			return a
		}
	}
}

func clonePanel[T Element](a []Block[T]) []Block[T] {
	b := slices.Clone(a)
	for i := range b {
		b[i].Data = slices.Clone(b[i].Data)
	}
	return b
}

// All implementations find the same pivots and, up to rounding, the same
// factors, whatever is copied for whose caches.
func TestGetrf(t *testing.T) {
	t.Run("float64", testGetrf[float64])
	t.Run("float32", testGetrf[float32])
}

func testGetrf[T Element](t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	ref := NewLU(Portable[T](), Caches{})
	for _, s := range [][2]int{{1, 1}, {15, 15}, {16, 16}, {17, 17}, {33, 33}, {64, 64}, {100, 64}, {130, 100}, {150, 37}, {40, 90}, {500, 20}, {513, 65}} {
		m, n := s[0], s[1]
		k := min(m, n)
		a := panelOf[T](rnd, m, n)
		want, pivots := clonePanel(a), make([]int, k)
		ref.Getrf(n, want, pivots, make([]T, ref.Work(m, n)))
		for name, l := range luOf[T]() {
			got, ipiv := clonePanel(a), make([]int, k)
			if info := l.Getrf(n, got, ipiv, make([]T, l.Work(m, n))); info != 0 {
				t.Fatalf("%s, %d×%d: info %d", name, m, n, info)
			}
			if !slices.Equal(ipiv, pivots) {
				t.Fatalf("%s, %d×%d: pivots\n%v, want\n%v", name, m, n, ipiv, pivots)
			}
			nearly(t, fmt.Sprintf("%s, %d×%d", name, m, n), got, want, 1e4*float64(k))
			// Rows in their final order need no exchanges.
			again := clonePanel(a)
			l.Laswp(n, again, ipiv, false)
			if info := l.Getrfnp(n, again, make([]T, l.Work(m, n))); info != 0 {
				t.Fatalf("%s, %d×%d: info %d without exchanges", name, m, n, info)
			}
			nearly(t, fmt.Sprintf("%s, %d×%d, without exchanges", name, m, n), again, want, 1e4*float64(k))
		}
	}
}

// Several cores factor a panel as one does, bit for bit, whatever the number of
// parts and the order in which they come.
func TestGetrfTall(t *testing.T) {
	t.Run("float64", testGetrfTall[float64])
	t.Run("float32", testGetrfTall[float32])
}

func testGetrfTall[T Element](t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	spoil := map[string]func(a []Block[T]){
		"random": func([]Block[T]) {},
		"equal magnitudes": func(a []Block[T]) {
			for _, b := range a {
				for i := range b.Data {
					b.Data[i] = T(1 - 2*rnd.IntN(2))
				}
			}
		},
		"zero columns": func(a []Block[T]) {
			for _, b := range a {
				for i := range b.Rows {
					b.Data[i*b.Stride+1], b.Data[i*b.Stride+17] = 0, 0
				}
			}
		},
		"tiny": func(a []Block[T]) {
			for _, b := range a {
				for i := range b.Data {
					b.Data[i] *= safeMin[T]() / 8
				}
			}
		},
		"NaN": func(a []Block[T]) {
			a[0].Data[0] = T(math.NaN())
			last := a[len(a)-1]
			if last.Rows > 0 && last.Stride > 3 {
				last.Data[3] = T(math.NaN())
			}
		},
	}
	turn := 0 // of the numbers of rows, so that each implementation meets all of them
	crew := crewOf[T](new(int))
	for _, s := range [][2]int{{400, 1}, {401, 7}, {1000, 16}, {999, 33}, {777, 65}, {64, 20}} {
		m, n := s[0], s[1]
		for what, change := range sorted.Map(spoil) {
			if n < 18 && what == "zero columns" {
				continue
			}
			a := panelOf[T](rnd, m, n)
			change(a)
			all := luOf[T]()
			turn++
			for i, name := range slices.Sorted(maps.Keys(all)) {
				l := all[name]
				want, pivots := clonePanel(a), make([]int, n)
				info := l.Getrf(n, want, pivots, make([]T, l.Work(m, n)))
				rows := []int{64, 100, 300}[(turn+i)%3]
				s := &tall[T]{rows: rows, crew: crew}
				got, ipiv := clonePanel(a), make([]int, n)
				work := make([]T, roundUp(max(s.work(&l.leaves, m, n), l.leaves.work(m, n)), 16)+l.r.Work(m))
				if i := l.getrfTall(n, got, ipiv, work, s); i != info {
					t.Fatalf("%s, %s, %d×%d: info %d, want %d", name, what, m, n, i, info)
				}
				if !slices.Equal(ipiv, pivots) {
					t.Fatalf("%s, %s, %d×%d, parts of %d: pivots\n%v, want\n%v", name, what, m, n, rows, ipiv, pivots)
				}
				for b := range got {
					for i, v := range got[b].Data {
						if w := want[b].Data[i]; v != w && (v == v || w == w) {
							t.Fatalf("%s, %s, %d×%d, parts of %d: block %d, element %d: %v, want %v", name, what, m, n, rows, b, i, v, w)
						}
					}
				}
			}
		}
	}
}

// The scratch of a tall panel is enough for each of its leaves: further down there
// are fewer rows, but maybe in fewer parts, which are longer.
func TestTallWork(t *testing.T) {
	t.Run("float64", testTallWork[float64])
	t.Run("float32", testTallWork[float32])
}

func testTallWork[T Element](t *testing.T) {
	for name, l := range luOf[T]() {
		if !l.leaves.set() {
			continue // one core does it
		}
		top := l.leaves.block()
		for _, rows := range []int{100, luRows} {
			s := tall[T]{rows: rows}
			for _, k := range []int{1, 5, luWidth, luWidth + 1, 100} {
				for m := 8 * rows; m < 10*rows; m += 1 + rows/40 {
					have := s.work(&l.leaves, m, k)
					for c := range k {
						left, w := m-c, min(luWidth, k-c)
						n, need := s.parts(left), 0
						for i := range n {
							q := left*(i+1)/n - left*i/n
							if i > 0 {
								q += top
							}
							need += l.leaves.ld(q) * w
						}
						if need > have {
							t.Fatalf("%s, %d×%d in parts of %d, from column %d on: %d elements, has %d", name, m, k, rows, c, need, have)
						}
					}
				}
			}
		}
	}
}

// nearly fails t unless got is want but for some units of rounding.
func nearly[T Element](t *testing.T, what string, got, want []Block[T], units float64) {
	t.Helper()
	for b := range got {
		for i, v := range got[b].Data {
			if d := float64(v - want[b].Data[i]); !(math.Abs(d) <= units*epsilon[T]()) {
				t.Fatalf("%s: block %d, element %d: %v, want %v", what, b, i, v, want[b].Data[i])
			}
		}
	}
}

func epsilon[T Element]() float64 {
	if one := T(1); one+0x1p-40 == one {
		return 0x1p-24
	}
	return 0x1p-53
}

// FuzzLaswp exchanges rows there and back, and compares with one row at a time.
func FuzzLaswp(f *testing.F) {
	f.Add(uint64(1), uint8(5), uint8(3), uint8(4))
	f.Add(uint64(2), uint8(1), uint8(0), uint8(1))
	f.Add(uint64(3), uint8(90), uint8(70), uint8(90))
	f.Fuzz(func(t *testing.T, seed uint64, m8, n8, k8 uint8) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		m, n := 1+int(m8), int(n8)
		ipiv := make([]int, int(k8)%(m+1))
		for i := range ipiv {
			ipiv[i] = i + rnd.IntN(m-i)
		}
		a := panelOf[float64](rnd, m, n)
		order := make([]int, m)
		for i := range order {
			order[i] = i
		}
		for i, p := range ipiv {
			order[i], order[p] = order[p], order[i]
		}
		for name, l := range luOf[float64]() {
			b := clonePanel(a)
			l.Laswp(n, b, ipiv, false)
			for i, from := range order {
				if n > 0 && !slices.Equal(rowOf(b, i, 0, n), rowOf(a, from, 0, n)) {
					t.Fatalf("%s, %d×%d, %v: row %d is not row %d", name, m, n, ipiv, i, from)
				}
			}
			l.Laswp(n, b, ipiv, true)
			for i := range a {
				if !slices.Equal(a[i].Data, b[i].Data) {
					t.Fatalf("%s, %d×%d, %v: block %d is not as it was", name, m, n, ipiv, i)
				}
			}
		}
	})
}

// Wrong panels and pivots panic.
func TestGetrfMisuse(t *testing.T) {
	l := NewLU(Portable[float64](), Caches{})
	a := func(rows ...int) (a []Block[float64]) {
		for _, r := range rows {
			a = append(a, Block[float64]{Rows: r, Stride: 3, Data: make([]float64, 3*r)})
		}
		return a
	}
	work := make([]float64, l.Work(9, 3))
	for name, c := range map[string]struct {
		f    func()
		want Error
	}{
		"pivots":  {func() { l.Getrf(3, a(3, 4), make([]int, 2), work) }, ErrPivots},
		"blocks":  {func() { l.Getrf(3, a(2, 4), make([]int, 3), work) }, ErrBlocks},
		"work":    {func() { l.Getrf(3, a(3), make([]int, 3), nil) }, ErrWork},
		"short":   {func() { l.Getrfnp(3, []Block[float64]{{Rows: 3, Stride: 3, Data: make([]float64, 8)}}, work) }, ErrShort},
		"stride":  {func() { l.Getrfnp(4, a(3), work) }, ErrStride},
		"columns": {func() { l.Getrfnp(-1, a(3), work) }, ErrDim},
		"row":     {func() { l.Laswp(3, a(3, 2), []int{5}, false) }, ErrPivots},
		"many":    {func() { l.Laswp(3, a(1), []int{0, 0}, true) }, ErrPivots},
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

// An infinity in a column of U is no concern of the rows above it.
func TestGetrfnpInfinity(t *testing.T) {
	t.Run("float64", testGetrfnpInfinity[float64])
	t.Run("float32", testGetrfnpInfinity[float32])
}

func testGetrfnpInfinity[T Element](t *testing.T) {
	const m, n = 20, luWidth / 2 // one leaf
	rnd := rand.New(rand.NewPCG(3, 1))
	for name, l := range sorted.Map(luOf[T]()) {
		for col := range n {
			for row := range col + 1 {
				a := make([]T, m*n)
				for i := range a {
					a[i] = T(rnd.NormFloat64() / 10)
				}
				for i := range n {
					a[i*n+i] = 3
				}
				a[row*n+col] = T(math.Inf(1))
				l.Getrfnp(n, []Block[T]{{Rows: m, Stride: n, Data: a}}, make([]T, l.Work(m, n)))
				for i := range row {
					if v := float64(a[i*n+col]); math.IsNaN(v) || math.IsInf(v, 0) {
						t.Fatalf("%s: infinity at (%d, %d): U(%d, %d) = %v", name, row, col, i, col, v)
					}
				}
				if v := float64(a[row*n+col]); !math.IsInf(v, 1) {
					t.Fatalf("%s: infinity at (%d, %d) became %v", name, row, col, v)
				}
			}
		}
	}
}
