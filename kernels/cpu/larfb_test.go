package cpu

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/blas"
)

// The product with V where it lies is that with a packed V.
func TestUnpackedV(t *testing.T) {
	t.Run("float64", func(t *testing.T) { testUnpackedV[float64](t, 1e-12) })
	t.Run("float32", func(t *testing.T) { testUnpackedV[float32](t, 1e-3) })
}

func testUnpackedV[T Element](t *testing.T, tol float64) {
	const ib = 24
	for name, p := range natives[T](Caches{L1: 16 << 10, L2: 64 << 10, L3: 1 << 20}) {
		packed, unpacked := NewQR[T](p), NewQR[T](p)
		unpacked.most = 0
		for _, d := range [][3]int{{700, 50, 97}, {300, 300, 20}, {31, 31, 130}, {1, 1, 1}} {
			m, k, n := d[0], d[1], d[2]
			for l := range []string{"square", "triangle", "trapezoid"} {
				rows := m
				if l == 1 {
					rows = min(m, k)
				}
				t.Run(fmt.Sprint(name, d, l), func(t *testing.T) {
					a, r, c := randomSlice[T](rows*k), randomSlice[T](k*k), randomSlice[T](rows*n)
					c1 := randomSlice[T](k * n)
					var got [2][]T
					for i, q := range []*QR[T]{packed, unpacked} {
						v, top, tt, x := clone(a), clone(r), make([]T, ib*k), clone(c)
						x1 := clone(c1)
						work := make([]T, q.Work(max(m, n, k), k, ib))
						for _, trans := range []blas.Transpose{blas.Trans, blas.NoTrans, blas.Trans} {
							switch l {
							case 2:
								if trans == blas.Trans {
									copy(v, a)
									q.Geqrt(rows, k, ib, v, k, tt, k, work)
								}
								q.Gemqrt(blas.Left, trans, rows, n, k, ib, v, k, tt, k, x, n, work)
							default:
								if trans == blas.Trans {
									copy(v, a)
									copy(top, r)
									q.Tpqrt(rows, k, l*rows, ib, top, k, v, k, tt, k, work)
								}
								q.Tpmqrt(blas.Left, trans, rows, n, k, l*rows, ib, v, k, tt, k, x1, n, x, n, work)
							}
						}
						got[i] = append(append(append(v, top...), x...), x1...)
					}
					for i, w := range got[0] {
						if d := math.Abs(float64(got[1][i] - w)); !(d <= tol*float64(m)) {
							t.Fatalf("element %d is %v where V lies, %v packed", i, got[1][i], w)
						}
					}
				})
			}
		}
	}
}

func clone[T Element](x []T) []T { return append([]T(nil), x...) }
