package kerneltest

import (
	"math"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
)

// Geqp3 judges by the norms that reflectors keep: column i of A·P has those of column i of R, and their inner products.
func (s *suite[T]) Geqp3(t *testing.T) {
	for _, dims := range [][2]int{{0, 0}, {0, 2}, {2, 0}, {1, 1}, {2, 2}, {3, 7}, {7, 3}, {40, 35}, {35, 40}, {160, 150}} {
		for name, x := range map[string]func(i, j int) float64{
			"random":   func(int, int) float64 { return s.rnd.NormFloat64() },
			"zero":     func(int, int) float64 { return 0 },
			"rank one": func(int, int) float64 { return 1 },
			"large":    func(int, int) float64 { return s.rnd.NormFloat64() * extreme[T]() },
			"small":    func(int, int) float64 { return s.rnd.NormFloat64() / extreme[T]() },
		} {
			n, m := dims[0], dims[1]
			b, tau, p := newTile[T](n, m, 2), newTile[T](1, min(n, m), 0), new(kernels.Pivots)
			top := 0.0
			for i := range n {
				for j := range m {
					b.Set(i, j, T(x(i, j)))
					top = max(top, math.Abs(float64(b.At(i, j))))
				}
			}
			if top == 0 {
				top = 1
			}
			was := clone(b)
			sketched := name == "rank one" || name == "random"
			s.must(t, &op.Geqp3{Sketched: sketched}, b, tau, p)
			untouched(t, "geqp3: B", b, was, func(int, int) bool { return true })
			if got := slices.Sorted(slices.Values(p.Rows)); len(slices.Compact(got)) != n || n > 0 && got[n-1] != n-1 {
				t.Fatalf("%s, %d×%d: not a permutation: %v", name, n, m, p.Rows)
			}
			for i := range n {
				for j := range i + 1 {
					want, got := 0.0, 0.0
					for l := range m {
						want += float64(was.At(p.Rows[i], l)) / top * (float64(was.At(p.Rows[j], l)) / top)
						if l <= j {
							got += float64(b.At(i, l)) / top * (float64(b.At(j, l)) / top)
						}
					}
					if !(math.Abs(want-got) <= 60*float64(m)*float64(m)*eps[T]()) {
						t.Fatalf("%s, %d×%d: columns %d and %d: product %v, want %v", name, n, m, i, j, got, want)
					}
				}
			}
		}
	}
	b := s.random(20, 30, 1)
	s.checkSameBits(t, &op.Geqp3{}, b, newTile[T](1, 20, 0), new(kernels.Pivots))
	s.work(t, 36, &op.Geqp3{}, newTile[T](3, 3, 0), newTile[T](1, 3, 0), new(kernels.Pivots))
}

// Ormlq applies reflectors one by one.
func (s *suite[T]) Ormlq(t *testing.T) {
	for _, m := range []int{1, 2, 7, 70} {
		for _, k := range []int{0, 1, 2, 7, 66} {
			if k > m {
				continue
			}
			for _, rows := range []int{0, 1, 5} {
				for _, transposed := range []bool{false, true} {
					b, tau, x := s.random(k, m, 1), newTile[T](1, k, 0), s.random(rows, m, 2)
					for i := range k {
						norm := 1.0
						for j := i + 1; j < m; j++ {
							norm += float64(b.At(i, j)) * float64(b.At(i, j))
						}
						tau.Set(0, i, T(2/norm))
					}
					s.mark(x, nil)
					was, factor := clone(x), clone(b)
					want := make([]float64, rows*m)
					for r := range rows {
						y := want[r*m:][:m]
						for j := range y {
							y[j] = float64(x.At(r, j))
						}
						for q := range k {
							i := q
							if transposed {
								i = k - 1 - q
							}
							dot := y[i]
							for j := i + 1; j < m; j++ {
								dot += float64(b.At(i, j)) * y[j]
							}
							dot *= float64(tau.At(0, i))
							y[i] -= dot
							for j := i + 1; j < m; j++ {
								y[j] -= dot * float64(b.At(i, j))
							}
						}
					}
					s.must(t, &op.Ormlq{Transposed: transposed}, b, tau, x)
					untouched(t, "ormlq: X", x, was, func(int, int) bool { return true })
					identical(t, "ormlq: B", b, factor)
					for i := range rows {
						for j := range m {
							if d := math.Abs(float64(x.At(i, j)) - want[i*m+j]); !(d <= 100*float64(m)*eps[T]()*math.Sqrt(float64(m))) {
								t.Fatalf("m %d, k %d, transposed %v: (%d, %d) is off by %v", m, k, transposed, i, j, d)
							}
						}
					}
				}
			}
		}
	}
	s.work(t, 2*3*2*8, &op.Ormlq{}, newTile[T](2, 5, 0), newTile[T](1, 2, 0), newTile[T](3, 5, 0))
}
