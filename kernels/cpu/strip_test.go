package cpu

import (
	"testing"

	"gonum.org/v1/gonum/blas"
)

// Packing keeps every element, fills up with zeros, and touches nothing else.
func TestPackStrips(t *testing.T) {
	for name, p := range natives[float64](Caches{}) {
		t.Run(name+"/float64", func(t *testing.T) { testPackStrips(t, p) })
	}
	for name, p := range natives[float32](Caches{}) {
		t.Run(name+"/float32", func(t *testing.T) { testPackStrips(t, p) })
	}
}

func testPackStrips[T Element](t *testing.T, p *Packed[T]) {
	const ld = 263
	src := randomSlice[T](ld * ld)
	for _, k := range []int{1, 2, 3, 7, 8, 9, 15, 16, 17, 33} {
		for w := 1; w <= p.NR; w++ {
			for _, strides := range [][2]int{{ld, 1}, {1, ld}} {
				rs, cs := strides[0], strides[1]
				r := roundUp(w, p.vectors.lanes)
				dst := randomSlice[T](k*r + 1)
				guard := dst[k*r]
				p.vectors.packB(dst[:k*r], src[:(k-1)*rs+(w-1)*cs+1], rs, cs, w, k, r)
				for l := range k {
					for j := range r {
						var want T
						if j < w {
							want = src[l*rs+j*cs]
						}
						if got := dst[l*r+j]; got != want {
							t.Fatalf("B %d×%d strides %v: (%d, %d) is %v, want %v", k, w, strides, l, j, got, want)
						}
					}
				}
				if dst[k*r] != guard {
					t.Fatalf("B %d×%d strides %v: written beyond the end", k, w, strides)
				}
			}
		}
		for _, n := range []int{1, p.NR, p.NR + p.vectors.lanes, 2*p.NR - 1, 2 * p.NR, 2*p.NR + 1, 2*p.NR + p.vectors.lanes, 3 * p.NR, 4*p.NR + 1, 5*p.NR + 3} {
			for _, strides := range [][2]int{{ld, 1}, {1, ld}} {
				rs, cs := strides[0], strides[1]
				room := roundUp(n, p.NR) * k
				for name, pack := range map[string]func(dst, src []T, rs, cs, n, k int){"strips": p.packStrips, "all": p.packAllB} {
					dst := randomSlice[T](room + 1)
					guard := dst[room]
					pack(dst[:room], src[:(k-1)*rs+(n-1)*cs+1], rs, cs, n, k)
					for j, w := 0, 0; j < n; j += w {
						w = p.width(n - j)
						for l := range k {
							for x := range w {
								want := src[l*rs+(j+x)*cs]
								if got := dst[j*k+l*roundUp(w, p.vectors.lanes)+x]; got != want {
									t.Fatalf("%s of B %d×%d strides %v: (%d, %d) is %v, want %v", name, k, n, strides, l, j+x, got, want)
								}
							}
						}
					}
					if dst[room] != guard {
						t.Fatalf("%s of B %d×%d strides %v: written beyond the end", name, k, n, strides)
					}
				}
			}
		}
		for m := 1; m <= 9*p.MR+1; m++ {
			for _, strides := range [][2]int{{ld, 1}, {1, ld}} {
				rs, cs := strides[0], strides[1]
				dst := randomSlice[T](roundUp(m, p.MR)*k + p.vectors.lanes)
				p.packA(dst, src[:(m-1)*rs+(k-1)*cs+1], rs, cs, m, k)
				prs, pcs, ps := 1, p.MR, p.MR*k
				for i := range m {
					for l := range k {
						want := src[i*rs+l*cs]
						if got := dst[i/p.MR*ps+i%p.MR*prs+l*pcs]; got != want {
							t.Fatalf("A %d×%d strides %v: (%d, %d) is %v, want %v", m, k, strides, i, l, got, want)
						}
					}
				}
			}
		}
	}
}

// The sum of an element does not depend on what is around it, nor on where
// its matrices lie, nor on whether they are packed.
func TestStripsSameBits(t *testing.T) {
	for name, p := range natives[float64](Caches{}) {
		t.Run(name+"/float64", func(t *testing.T) { testSameBits(t, p) })
	}
	for name, p := range natives[float32](Caches{}) {
		t.Run(name+"/float32", func(t *testing.T) { testSameBits(t, p) })
	}
	t.Run("go/float64", func(t *testing.T) { testSameBits(t, shallow(Portable[float64]())) })
	t.Run("go/float32", func(t *testing.T) { testSameBits(t, shallow(Portable[float32]())) })
}

// shallow returns p with blocks that have fewer columns than the test's matrices.
func shallow[T Element](p *Packed[T]) *Packed[T] {
	q := *p
	q.KC = 16
	return &q
}

// packing returns p with small blocks that are always packed.
func packing[T Element](p *Packed[T]) *Packed[T] {
	q := *p
	q.MC, q.NC = 2*p.MR, p.NR
	q.vectors.near, q.vectors.spanA, q.vectors.spanB = 0, 0, 0
	return &q
}

// large returns p with small blocks that takes every product for a large one.
func large[T Element](p *Packed[T]) *Packed[T] {
	q := *p
	q.MC, q.NC = 2*p.MR, 2*p.NR
	q.vectors.all, q.vectors.narrow = -1, 0
	return &q
}

func testSameBits[T Element](t *testing.T, p *Packed[T]) {
	const n, k = 61, 37
	a, b, c := randomSlice[T](n*n), randomSlice[T](n*n), randomSlice[T](n*n)
	work := make([]T, p.Work(n))
	transpose := map[bool]blas.Transpose{false: blas.NoTrans, true: blas.Trans}
	for _, trans := range [][2]bool{{false, false}, {false, true}, {true, false}, {true, true}} {
		all := append([]T(nil), c...)
		p.Gemm(transpose[trans[0]], transpose[trans[1]], n, n, k, 0.75, a, n, b, n, 0.5, all, n, work)
		for _, part := range [][4]int{{0, 0, 1, 1}, {3, 5, 13, 31}, {17, 1, 44, 7}, {60, 0, 1, 61}, {0, 60, 61, 1}} {
			i, j, h, w := part[0], part[1], part[2], part[3]
			for name, r := range map[string]*Packed[T]{"itself": p, "packing": packing(p), "large": large(p)} {
				some := append(make([]T, 1, n*n+1), c...)[1:] // elsewhere
				ai, _, _ := operand[T]{a, n, trans[0], nil}.from(i, 0)
				bj, _, _ := operand[T]{b, n, trans[1], nil}.from(0, j)
				r.Gemm(transpose[trans[0]], transpose[trans[1]], h, w, k, 0.75, ai, n, bj, n, 0.5, some[i*n+j:], n, work)
				for y := i; y < i+h; y++ {
					for x := j; x < j+w; x++ {
						if some[y*n+x] != all[y*n+x] {
							t.Fatalf("%s, %v: (%d, %d) is %v in a part, %v in the whole", name, trans, y, x, some[y*n+x], all[y*n+x])
						}
					}
				}
			}
		}
	}
}

// Halves of C have the bits of a product, also of a matrix with fewer rows than
// C has.
func TestSyrkHalves(t *testing.T) {
	for name, p := range natives[float64](Caches{}) {
		t.Run(name+"/float64", func(t *testing.T) { testSyrkHalves(t, p) })
	}
	for name, p := range natives[float32](Caches{}) {
		t.Run(name+"/float32", func(t *testing.T) { testSyrkHalves(t, p) })
	}
}

func testSyrkHalves[T Element](t *testing.T, p *Packed[T]) {
	const n, k = 301, 5
	q := packing(p)
	a, c := randomSlice[T](n*k), randomSlice[T](n*n)
	work := make([]T, p.Work(n))
	for _, trans := range []bool{false, true} {
		lda, tA, tB := k, blas.NoTrans, blas.Trans
		if trans {
			lda, tA, tB = n, blas.Trans, blas.NoTrans
		}
		want := append([]T(nil), c...)
		p.Gemm(tA, tB, n, n, k, 0.75, a, lda, a, lda, 0.5, want, n, work)
		for _, uplo := range []blas.Uplo{blas.Upper, blas.Lower} {
			got := append([]T(nil), c...)
			q.syrkHalves(uplo, trans, n, k, 0.75, a, lda, 0.5, got, n, work)
			for i := range n {
				lo, hi := triangleRow(uplo, i, n)
				for j := range n {
					w := c[i*n+j]
					if lo <= j && j < hi {
						w = want[i*n+j]
					}
					if got[i*n+j] != w {
						t.Fatalf("%c, %c: (%d, %d) is %v, want %v", uplo, tA, i, j, got[i*n+j], w)
					}
				}
			}
		}
	}
}
