package cpu

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/testblas"
	"gonum.org/v1/gonum/lapack/testlapack"
)

// tiny is the portable routines with blocks so small that every loop of the
// driver turns and every edge case of the blocking comes up in small sizes.
func tiny[T Element]() *Packed[T] {
	p := Portable[T]()
	p.MC, p.KC, p.NC, p.Leaf, p.Small = 8, 6, 6, 5, 0
	return p
}

// wide has the panels of a vector micro-kernel, which are not those that pack
// unrolls.
func wide[T Element]() *Packed[T] {
	p := Portable[T]()
	p.MR, p.NR = 6, 8
	p.MC, p.KC, p.NC, p.Leaf, p.Small = 12, 16, 16, 16, 8
	p.Micro = func(k int, a, b, c []T, ldc int) {
		for i := range p.MR {
			for j := range p.NR {
				var s T
				for l := range k {
					s += a[l*p.MR+i] * b[l*p.NR+j]
				}
				c[i*ldc+j] += s
			}
		}
	}
	return p
}

// float64s is every implementation that this build has, and the two above.
func float64s() map[string]Routines[float64] {
	rs := map[string]Routines[float64]{
		"portable": Portable[float64](),
		"tiny":     tiny[float64](),
		"wide":     wide[float64](),
	}
	for name, p := range natives[float64](Caches{}) {
		rs[name] = p
		small := *p
		small.MC, small.KC, small.NC, small.Leaf = 2*p.MR, 6, p.NR, 5
		rs["tiny "+name] = &small
		rs["packing "+name] = packing(p)
		rs["large "+name] = large(p)
		short := *large(p)
		short.KC, short.vectors.spanA = 6, 0
		rs["large, short "+name] = &short
	}
	if r, ok := BLAS[float64](); ok {
		rs["blas"] = r
	}
	if r, ok := BLASSplit[float64](); ok {
		rs["split"] = r
	}
	return rs
}

// gonum adapts Routines to the method sets of gonum's tests. A call that asks
// for too little scratch fails by the panic of a routine.
type gonum struct{ r Routines[float64] }

func (g gonum) work(dims ...int) []float64 {
	d := 0
	for _, v := range dims {
		d = max(d, v)
	}
	w := make([]float64, g.r.Work(d))
	for i := range w {
		w[i] = rand.NormFloat64()
	}
	return w
}

func (g gonum) Dgemm(tA, tB blas.Transpose, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, c []float64, ldc int) {
	g.r.Gemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, g.work(m, n, k))
}

func (g gonum) Dsyrk(ul blas.Uplo, t blas.Transpose, n, k int, alpha float64, a []float64, lda int, beta float64, c []float64, ldc int) {
	g.r.Syrk(ul, t, n, k, alpha, a, lda, beta, c, ldc, g.work(n, k))
}

func (g gonum) Dtrsm(s blas.Side, ul blas.Uplo, t blas.Transpose, d blas.Diag, m, n int, alpha float64, a []float64, lda int, b []float64, ldb int) {
	g.r.Trsm(s, ul, t, d, m, n, alpha, a, lda, b, ldb, g.work(m, n))
}

func (g gonum) Dpotrf(ul blas.Uplo, n int, a []float64, lda int) (ok bool) {
	return g.r.Potrf(ul, n, a, lda, g.work(n)) == 0
}

func TestGonum(t *testing.T) {
	for name, r := range float64s() {
		t.Run(name, func(t *testing.T) {
			g := gonum{r}
			t.Run("Dgemm", func(t *testing.T) { testblas.TestDgemm(t, g) })
			t.Run("Dsyrk", func(t *testing.T) { testblas.DsyrkTest(t, g) })
			t.Run("Dtrsm", func(t *testing.T) { testblas.DtrsmTest(t, g) })
			// One core and no goroutine: the race detector has nothing to find
			// in gonum's checks of large factors, and takes a minute for them.
			// Other kernels change nothing in it, and have tests of their own.
			if !raceEnabled && (!testing.Short() || slices.Contains([]string{"portable", "tiny", "blas", "split"}, name)) {
				t.Run("Dpotrf", func(t *testing.T) { testlapack.DpotrfTest(t, g) })
			}
		})
	}
}

// pack does what [Packed.Pack] says for rows and columns and any width.
func TestPack(t *testing.T) {
	const ld = 40
	src := randomSlice[float64](ld * ld)
	for _, r := range []int{1, 2, 3, 4, 6, 8} {
		for _, strides := range [][2]int{{ld, 1}, {1, ld}} {
			rs, cs := strides[0], strides[1]
			for dim := 1; dim <= 13; dim++ {
				for _, k := range []int{1, 2, 7, 16} {
					dst := make([]float64, roundUp(dim, r)*k)
					for i := range dst {
						dst[i] = 7
					}
					pack(dst, src, rs, cs, dim, k, r, -0.5)
					for i := range roundUp(dim, r) {
						for p := range k {
							want := 0.0
							if i < dim {
								want = -0.5 * src[i*rs+p*cs]
							}
							if got := dst[i/r*r*k+p*r+i%r]; got != want {
								t.Fatalf("r=%d strides %v dim=%d k=%d: (%d, %d) is %v, want %v", r, strides, dim, k, i, p, got, want)
							}
						}
					}
				}
			}
		}
	}
}
