package cpu

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/tessera-la/tessera/internal/peak"
	"gonum.org/v1/gonum/blas"
)

// BenchmarkRatioQR is [BenchmarkRatio] for the routines of QR. Their flops are
// those of the algorithm without blocks: 4/3·n³ for geqrt, 2·n³ for unmqr and
// tpqrt, 4·n³ for tpmqrt; 2/3·n³ and 2·n³ for those of a triangle.
func BenchmarkRatioQR(b *testing.B) {
	b.Run("f64", qrRatios[float64])
	b.Run("f32", qrRatios[float32])
}

func qrRatios[T Element](b *testing.B) {
	onNatives(b, func(b *testing.B, isa peak.ISA, p *Packed[T], _ Caches) {
		for _, n := range []int{128, 192, 240, 256, 320, 384, 512} {
			for _, ib := range []int{24, 32, 48, 64, 96} {
				for _, c := range qrCases(p, n, ib) {
					b.Run(fmt.Sprintf("%s/%d/%d", c.name, n, ib), func(b *testing.B) { ratio[T](b, isa, c) })
				}
			}
		}
	})
}

func qrCases[T Element](p *Packed[T], n, ib int) []ratioCase {
	q := NewQR[T](p)
	a0, r0 := randomSlice[T](n*n), randomSlice[T](n*n)
	c, d, a, r := randomSlice[T](n*n), randomSlice[T](n*n), make([]T, n*n), make([]T, n*n)
	line := 64 / int(unsafe.Sizeof(a[0]))
	work := make([]T, q.Work(n, n, ib)+line)
	for uintptr(unsafe.Pointer(&work[0]))%64 != 0 {
		work = work[1:]
	}
	t := make([]T, ib*n)
	vs, ts := make([]T, n*n), make([]T, ib*n)
	copy(vs, a0)
	copy(r, r0)
	q.Tpqrt(n, n, 0, ib, r, n, vs, n, ts, n, work)
	vt, tt := make([]T, n*n), make([]T, ib*n)
	copy(vt, a0)
	q.Tpqrt(n, n, n, ib, r, n, vt, n, tt, n, work)
	vg, tg := make([]T, n*n), make([]T, ib*n)
	copy(vg, a0)
	q.Geqrt(n, n, ib, vg, n, tg, n, work)

	f := float64(n)
	nothing := func() {}
	restore := func() { copy(a, a0); copy(r, r0) }
	tpmqrt := func(side blas.Side, trans blas.Transpose, l int, v, t []T) func() {
		return func() { q.Tpmqrt(side, trans, n, n, n, l, ib, v, n, t, n, c, n, d, n, work) }
	}
	return []ratioCase{
		{"geqrt", f * f * f * 4 / 3, restore, func() { q.Geqrt(n, n, ib, a, n, t, n, work) }},
		{"tsqrt", 2 * f * f * f, restore, func() { q.Tpqrt(n, n, 0, ib, r, n, a, n, t, n, work) }},
		{"ttqrt", f * f * f * 2 / 3, restore, func() { q.Tpqrt(n, n, n, ib, r, n, a, n, t, n, work) }},
		{"unmqrLT", 2 * f * f * f, nothing, func() { q.Gemqrt(blas.Left, blas.Trans, n, n, n, ib, vg, n, tg, n, c, n, work) }},
		{"tsmqrLT", 4 * f * f * f, nothing, tpmqrt(blas.Left, blas.Trans, 0, vs, ts)},
		{"tsmqrLN", 4 * f * f * f, nothing, tpmqrt(blas.Left, blas.NoTrans, 0, vs, ts)},
		{"tsmqrRN", 4 * f * f * f, nothing, tpmqrt(blas.Right, blas.NoTrans, 0, vs, ts)},
		{"ttmqrLT", 2 * f * f * f, nothing, tpmqrt(blas.Left, blas.Trans, n, vt, tt)},
	}
}
