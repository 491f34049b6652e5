package cpu

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/internal/sorted"
	"gonum.org/v1/gonum/blas"
)

// Operands that were packed before give the same bits, by one core and by a crew.
func TestPrepacked(t *testing.T) {
	t.Run("float64", testPrepacked[float64])
	t.Run("float32", testPrepacked[float32])
}

func testPrepacked[T Element](t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	transposes := []blas.Transpose{blas.NoTrans, blas.Trans}
	for name, p := range sorted.Map(packedOf[T]()) {
		if !p.vectors.set() {
			if p.Prepacks(400, 400, 400) {
				t.Errorf("%s: portable Go packs operands before", name)
			}
			continue
		}
		p := large(p)
		p.NC = 40 * p.NR
		p.KC = min(p.KC, 120)
		s, most := p.Shared(3, crewOf[T](new(int))), 0
		for _, d := range [][3]int{{1, 1, 1}, {p.MR, p.NR, 1}, {97, 101, 121}, {208, 130, 90}, {61, 205, 333}, {205, 61, 240}, {p.MC + 1, p.NR + 1, p.KC + 1}} {
			m, n, k := d[0], d[1], d[2]
			if !p.Prepacks(m, n, k) {
				t.Fatalf("%s: %v is not packed before", name, d)
			}
			ld := max(m, n, k) + rnd.IntN(9)
			a, b, c := randomSlice[T](ld*max(m, k)), randomSlice[T](ld*max(n, k)), randomSlice[T](m*ld)
			for _, ta := range transposes {
				for _, tb := range transposes {
					ap, bp := rubbish[T](p.SizeA(m, k)), rubbish[T](p.SizeB(n, k))
					p.PackA(ap, ta, m, k, a, ld)
					p.PackB(bp, tb, n, k, b, ld)
					want := slices.Clone(c)
					p.Gemm(ta, tb, m, n, k, -0.5, a, ld, b, ld, 0.25, want, ld, rubbish[T](p.Work(max(m, n, k))))
					for i, x := range [][2][]T{{ap, bp}, {ap, nil}, {nil, bp}} {
						got, shared := slices.Clone(c), slices.Clone(c)
						p.GemmPacked(ta, tb, m, n, k, -0.5, a, ld, x[0], b, ld, x[1], 0.25, got, ld, rubbish[T](p.Work(max(m, n, k))))
						s.GemmPacked(ta, tb, m, n, k, -0.5, a, ld, x[0], b, ld, x[1], 0.25, shared, ld, rubbish[T](p.Work(max(m, n, k))))
						if !slices.Equal(got, want) || !slices.Equal(shared, want) {
							t.Errorf("%s: %v %c%c, operands %d: other bits", name, d, ta, tb, i)
						}
						most++
					}
				}
			}
		}
		for _, d := range [][2]int{{193, 60}, {240, 250}, {300, 121}} {
			n, k := d[0], d[1]
			if p.vectors.PackStrips == nil {
				if p.PrepacksSyrk(n, k) {
					t.Errorf("%s: syrk is packed before", name)
				}
				continue
			}
			ld := max(n, k) + 3
			a, c := randomSlice[T](ld*max(n, k)), randomSlice[T](n*ld)
			for _, uplo := range []blas.Uplo{blas.Lower, blas.Upper} {
				for _, trans := range transposes {
					ap, bp := rubbish[T](p.SizeA(n, k)), rubbish[T](p.SizeB(n, k))
					p.PackA(ap, trans, n, k, a, ld)
					p.PackB(bp, scalar.Flip[T](trans), n, k, a, ld)
					want, got := slices.Clone(c), slices.Clone(c)
					p.Syrk(uplo, trans, n, k, -0.5, a, ld, 0.25, want, ld, rubbish[T](p.Work(max(n, k))))
					p.SyrkPacked(uplo, trans, n, k, -0.5, a, ld, ap, bp, 0.25, got, ld, rubbish[T](p.Work(max(n, k))))
					if !slices.Equal(got, want) {
						t.Errorf("%s: syrk %v %c%c: other bits", name, d, uplo, trans)
					}
				}
			}
		}
	}
}

// So do factors.
func TestPrepackedFactor(t *testing.T) {
	t.Run("float64", testPrepackedFactor[float64])
	t.Run("float32", testPrepackedFactor[float32])
}

func testPrepackedFactor[T Element](t *testing.T) {
	for name, p := range packedOf[T]() {
		q := NewQR[T](p)
		if q.vec == nil {
			if q.Prepacks(100, 100) {
				t.Errorf("%s: portable Go packs factors before", name)
			}
			continue
		}
		for _, d := range [][3]int{{1, 1, 1}, {70, 70, 16}, {130, 100, 32}, {200, 96, 96}, {61, 40, 7}} {
			m, k, ib := d[0], d[1], d[2]
			n := 83
			ld := max(m, n, k) + 5
			for _, l := range []int{-1, 0, min(m, k)} { // geqrt, and tpqrt of both shapes
				rows := m
				if l > 0 {
					rows = l
				}
				v, tr := randomSlice[T](ld*ld), randomSlice[T](ib*ld)
				work := rubbish[T](q.Work(ld, ld, ib))
				vp := rubbish[T](q.SizeV(rows, k, ib))
				if l < 0 {
					q.Geqrt(m, k, ib, v, ld, tr, ld, work)
					q.PackGeqrt(vp, m, k, ib, v, ld, tr, ld)
				} else {
					q.Tpqrt(rows, k, l, ib, randomSlice[T](ld*ld), ld, v, ld, tr, ld, work)
					q.PackTpqrt(vp, rows, k, l, ib, v, ld, tr, ld)
				}
				c1, c2 := randomSlice[T](ld*ld), randomSlice[T](ld*ld)
				for _, side := range []blas.Side{blas.Left, blas.Right} {
					for _, trans := range []blas.Transpose{blas.NoTrans, blas.Trans} {
						h, w := rows, n
						if side == blas.Right {
							h, w = n, rows
						}
						apply := func(q *QR[T], v, tr []T) (x, y []T) {
							x, y = slices.Clone(c1), slices.Clone(c2)
							work := rubbish[T](q.Work(ld, k, ib))
							if l < 0 {
								q.Gemqrt(side, trans, h, w, k, ib, v, ld, tr, ld, y, ld, work)
							} else {
								q.Tpmqrt(side, trans, h, w, k, l, ib, v, ld, tr, ld, x, ld, y, ld, work)
							}
							return x, y
						}
						x, y := apply(q, v, tr)
						nothing := rubbish[T](ld * ld) // V is not read again
						for i, r := range []*QR[T]{q.Packed(vp), q.Packed(vp).Shared(3, crewOf[T](new(int)))} {
							if x1, y1 := apply(r, nothing, nothing); !slices.Equal(x, x1) || !slices.Equal(y, y1) {
								t.Errorf("%s: %s, crew %d: other bits", name, fmt.Sprint(d, l, string(side), string(trans)), i)
							}
						}
					}
				}
			}
		}
	}
}
