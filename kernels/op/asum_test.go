package op_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// TestAsum: the sums of moduli by column and row and the largest one are those of the
// definition, for triangles and what they stand for, and NaN stays.
func TestAsum(t *testing.T) {
	t.Run("f64", func(t *testing.T) { testAsum[float64](t, 1e-13) })
	t.Run("f32", func(t *testing.T) { testAsum[float32](t, 1e-6) })
}

func testAsum[T kernels.Element](t *testing.T, tol float64) {
	rng := rand.New(rand.NewPCG(1, 2))
	asum := asumRun[T]()
	for _, p := range []op.Asum{{}, {Uplo: blas.Lower}, {Uplo: blas.Upper}, {Uplo: blas.Lower, Symmetric: true}, {Uplo: blas.Upper, Symmetric: true}} {
		for _, n := range []int{1, 3, 4, 17} {
			for _, bad := range []float64{0, math.NaN(), math.Inf(-1)} {
				m := n
				if !p.Symmetric {
					m += rng.IntN(9) - min(n-1, 4)
				}
				a, s := asumTile[T](m, n), asumTile[float64](3, max(m, n)+2)
				for i := range m {
					for j := range n {
						a.Set(i, j, T(rng.NormFloat64()))
					}
				}
				if bad != 0 {
					a.Set(min(m, n)/2, min(m, n)/2, T(bad))
				}
				columns, rows, top := make([]float64, n), make([]float64, m), 0.0
				for i := range m {
					for j := range n {
						k, l := i, j
						if p.Uplo == blas.Lower && j > i || p.Uplo == blas.Upper && j < i {
							if !p.Symmetric {
								continue
							}
							k, l = j, i
						}
						v := math.Abs(float64(a.At(k, l)))
						columns[j] += v
						rows[i] += v
						top = max(top, v)
					}
				}
				if err := asum(&versions.Call{Params: &p, Args: []any{a, s}}); err != nil {
					t.Fatal(err)
				}
				same := func(x, y float64) bool {
					return x == y || math.IsNaN(x) && math.IsNaN(y) || math.Abs(x-y) <= tol*math.Abs(y)
				}
				if !same(s.At(2, 0), top) {
					t.Fatalf("%+v %d×%d with %v: top %v, want %v", p, m, n, bad, s.At(2, 0), top)
				}
				for j, want := range columns {
					if !same(s.At(0, j), want) {
						t.Fatalf("%+v %d×%d with %v: column %d: %v, want %v", p, m, n, bad, j, s.At(0, j), want)
					}
				}
				for i, want := range rows {
					if !same(s.At(1, i), want) {
						t.Fatalf("%+v %d×%d with %v: row %d: %v, want %v", p, m, n, bad, i, s.At(1, i), want)
					}
				}
			}
		}
	}
}

func BenchmarkAsum(b *testing.B) {
	a, s := asumTile[float64](512, 512), asumTile[float64](3, 512)
	asum := asumRun[float64]()
	for _, p := range []op.Asum{{}, {Uplo: blas.Upper, Symmetric: true}} {
		b.Run(fmt.Sprintf("symmetric=%v", p.Symmetric), func(b *testing.B) {
			b.SetBytes(512 * 512 * 8)
			c := &versions.Call{Params: &p, Args: []any{a, s}}
			for b.Loop() {
				_ = asum(c)
			}
		})
	}
}

// asumRun returns the only version of op "asum".
func asumRun[T kernels.Element]() func(*versions.Call) error {
	return kernels.For[T](op.NewTable()).Op("asum").Version("copy").Run
}

func asumTile[T kernels.Element](m, n int) *kernels.Tile[T] {
	return &kernels.Tile[T]{Rows: m, Cols: n, Stride: n, Data: make([]T, m*n)}
}
