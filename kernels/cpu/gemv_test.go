package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/tessera-la/tessera/internal/sorted"
	"gonum.org/v1/gonum/blas"
)

func TestGemv(t *testing.T) {
	t.Run("go/float64", func(t *testing.T) { testGemv(t, Portable[float64]()) })
	t.Run("go/float32", func(t *testing.T) { testGemv(t, Portable[float32]()) })
	for name, p := range natives[float64](Caches{}) {
		t.Run(name+"/float64", func(t *testing.T) { testGemv(t, p) })
	}
	for name, p := range natives[float32](Caches{}) {
		t.Run(name+"/float32", func(t *testing.T) { testGemv(t, p) })
	}
}

// testGemv compares Gemv with inner products in float64. What must not be read
// is NaN, and so is what lies between the elements of the vectors.
func testGemv[T Element](t *testing.T, p *Packed[T]) {
	nan := T(math.NaN())
	eps := 0x1p-52
	if T(1)+T(1e-12) == 1 {
		eps = 0x1p-23
	}
	for _, dims := range [][2]int{{0, 0}, {0, 3}, {3, 0}, {1, 1}, {4, 4}, {5, 3}, {3, 5}, {17, 9}, {2, 513}, {1030, 5}, {7, 1100}, {9, 16}, {8, 31}, {6, 530}} {
		for _, trans := range []blas.Transpose{blas.NoTrans, blas.Trans, blas.ConjTrans} {
			for k, inc := range [][2]int{{1, 1}, {3, 8}, {8, 2}} {
				m, n := dims[0], dims[1]
				alpha, beta := []T{1, -1, 0.5}[k], []T{0, 1, -2}[k]
				rows, cols := m, n
				if trans != blas.NoTrans {
					rows, cols = n, m
				}
				lda := max(1, n+k)
				a, x, y := randomSlice[T](m*lda), vector[T](cols, inc[0]), vector[T](rows, inc[1])
				for i := range a {
					if i%lda >= n {
						a[i] = nan
					}
				}
				if beta == 0 {
					for i := range rows {
						y[i*inc[1]] = nan
					}
				}
				y0 := append([]T(nil), y...)
				p.Gemv(trans, m, n, alpha, a, lda, x, inc[0], beta, y, inc[1])
				what := fmt.Sprintf("%d×%d %c, inc %v", m, n, trans, inc)
				for i := range y {
					if i%inc[1] != 0 {
						if y[i]-y[i] == 0 {
							t.Fatalf("%s: wrote between the elements", what)
						}
						continue
					}
					sum, size := 0.0, 0.0
					if beta != 0 {
						sum = float64(beta) * float64(y0[i])
						size = math.Abs(sum)
					}
					for l := range cols {
						at := i/inc[1]*lda + l
						if trans != blas.NoTrans {
							at = l*lda + i/inc[1]
						}
						v := float64(alpha) * float64(a[at]) * float64(x[l*inc[0]])
						sum += v
						size += math.Abs(v)
					}
					if d := math.Abs(float64(y[i]) - sum); !(d <= eps*float64(cols+4)*size) {
						t.Fatalf("%s: element %d is %v, want %v", what, i/inc[1], y[i], sum)
					}
				}
			}
		}
	}
}

// vector returns n random elements, inc apart, with NaN between them.
func vector[T Element](n, inc int) []T {
	x := make([]T, max(0, (n-1)*inc+1)*min(n, 1))
	for i := range x {
		x[i] = T(math.NaN())
		if i%inc == 0 {
			x[i] = randomSlice[T](1)[0]
		}
	}
	return x
}

// With alpha = 0, A and x are not read; with beta = 0, y is not.
func TestGemvReads(t *testing.T) {
	nan := math.NaN()
	y := []float64{nan, nan}
	Portable[float64]().Gemv(blas.NoTrans, 2, 1, 0, []float64{nan, nan}, 1, []float64{nan}, 1, 0, y, 1)
	if y[0] != 0 || y[1] != 0 {
		t.Errorf("y = %v, want zeros", y)
	}
	for _, v := range []struct {
		want Error
		f    func()
	}{
		{ErrDim, func() { Portable[float64]().Gemv(blas.NoTrans, -1, 1, 1, nil, 1, nil, 1, 1, nil, 1) }},
		{ErrStride, func() { Portable[float64]().Gemv(blas.NoTrans, 1, 1, 1, y, 1, y, 0, 1, y, 1) }},
		{ErrShort, func() { Portable[float64]().Gemv(blas.NoTrans, 1, 3, 1, y, 3, y, 1, 1, y, 1) }},
		{ErrShort, func() { Portable[float64]().Gemv(blas.Trans, 1, 2, 1, y, 2, y, 1, 1, y, 2) }},
	} {
		func() {
			defer func() {
				if got := recover(); got != v.want {
					t.Errorf("panic %v, want %v", got, v.want)
				}
			}()
			v.f()
		}()
	}
}

func BenchmarkGemv(b *testing.B) {
	b.Run("float64", benchmarkGemv[float64])
	b.Run("float32", benchmarkGemv[float32])
}

func benchmarkGemv[T Element](b *testing.B) {
	versions := natives[T](Caches{})
	versions["go"] = Portable[T]()
	for name, p := range versions {
		for _, n := range []int{512, 4096} {
			for _, trans := range []blas.Transpose{blas.NoTrans, blas.Trans} {
				b.Run(fmt.Sprintf("%s/n=%d/%c", name, n, trans), func(b *testing.B) {
					a, x, y := randomSlice[T](n*n), randomSlice[T](n), randomSlice[T](n)
					b.SetBytes(int64(n) * int64(n) * int64(unsafe.Sizeof(a[0])))
					for b.Loop() {
						p.Gemv(trans, n, n, 1, a, n, x, 1, 1, y, 1)
					}
				})
			}
		}
	}
}

// TestGemvGaps: gaps between the elements of the vectors change no bit of the result.
func TestGemvGaps(t *testing.T) {
	all := natives[float64](Caches{})
	all["go"] = Portable[float64]()
	for name, p := range all {
		for _, s := range [][2]int{{3, 5}, {37, 100}, {100, 37}, {7, 5000}, {5000, 7}} {
			m, n := s[0], s[1]
			a, x, y := randomSlice[float64](m*n), randomSlice[float64](3*(m+n)), randomSlice[float64](2*(m+n))
			for _, trans := range []blas.Transpose{blas.NoTrans, blas.Trans} {
				rows, cols := m, n
				if trans == blas.Trans {
					rows, cols = n, m
				}
				near, dense := make([]float64, cols), make([]float64, rows)
				for i := range near {
					near[i] = x[3*i]
				}
				for i := range dense {
					dense[i] = y[2*i]
				}
				far := slices.Clone(y)
				p.Gemv(trans, m, n, 1.25, a, n, near, 1, 0.5, dense, 1)
				p.Gemv(trans, m, n, 1.25, a, n, x, 3, 0.5, far, 2)
				for i, v := range dense {
					if far[2*i] != v || far[2*i+1] != y[2*i+1] {
						t.Fatalf("%s: %c %d×%d: element %d is %v with gaps, %v without", name, trans, m, n, i, far[2*i], v)
					}
				}
			}
		}
	}
}

// TestSmallGemv: small products with vectors agree with sums in float64 in every instruction set, for all shapes around
// those of vectors, and read and write nothing else.
func TestSmallGemv(t *testing.T) {
	t.Run("float64", testSmallGemv[float64])
	t.Run("float32", testSmallGemv[float32])
}

func testSmallGemv[T Element](t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	all := natives[T](Caches{})
	all["go"] = Portable[T]()
	sizes := []int{1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 23, 31, 32, 33, 40, 63, 64}
	for name, p := range sorted.Map(all) {
		for _, m := range sizes {
			for _, n := range sizes {
				for _, transposed := range []bool{false, true} {
					lda, incX, incY := n+rnd.IntN(3), 1+rnd.IntN(2), 1+rnd.IntN(2)
					alpha, beta := T(1), T(0)
					if rnd.IntN(2) == 0 {
						alpha, beta = T(rnd.NormFloat64()), T(rnd.NormFloat64())
					}
					a := randomSlice[T]((m-1)*lda + n)
					for i := range m - 1 {
						for j := n; j < lda; j++ {
							a[i*lda+j] = T(math.NaN())
						}
					}
					rows, cols := m, n
					if transposed {
						rows, cols = n, m
					}
					x, y := randomSlice[T]((cols-1)*incX+1), randomSlice[T]((rows-1)*incY+2)
					want := append([]T(nil), y...)
					for i := range rows {
						var s float64
						for j := range cols {
							v := a[min(i*lda+j, len(a)-1)]
							if transposed {
								v = a[j*lda+i]
							}
							s += float64(v) * float64(x[j*incX])
						}
						want[i*incY] = T(float64(alpha)*s) + beta*want[i*incY]
					}
					p.SmallGemv(transposed, m, n, alpha, a, lda, x, incX, beta, y, incY)
					if i := differ(y, want); i >= 0 {
						t.Fatalf("%s: %d×%d, transposed %v: element %d is %v, want %v", name, m, n, transposed, i, y[i], want[i])
					}
				}
			}
		}
	}
}
