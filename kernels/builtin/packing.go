package builtin

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// packedLeft returns the tile t, of which op(t) is m×k, on the left of products.
func packedLeft[T kernels.Element](p *kernels.Packing, r *cpu.Packed[T], t *kernels.Tile[T], trans blas.Transpose, m, k int) []T {
	return kernels.Packed(p, kernels.PackingForm{Routines: r, Dim: m, K: k, Trans: trans != blas.NoTrans}, r.SizeA(m, k), func(dst []T) {
		r.PackA(dst, trans, m, k, t.Data, t.Stride)
	})
}

// packedRight returns the tile t, of which op(t) is k×n, on the right of products.
func packedRight[T kernels.Element](p *kernels.Packing, r *cpu.Packed[T], t *kernels.Tile[T], trans blas.Transpose, n, k int) []T {
	return kernels.Packed(p, kernels.PackingForm{Routines: r, Dim: n, K: k, Right: true, Trans: trans != blas.NoTrans}, r.SizeB(n, k), func(dst []T) {
		r.PackB(dst, trans, n, k, t.Data, t.Stride)
	})
}

// packedFactor returns the orthogonal factor that form describes but for the
// routines, which are q.
func packedFactor[T kernels.Element](p *kernels.Packing, q cpu.QRRoutines[T], form kernels.PackingForm, pack func(ours *cpu.QR[T], dst []T)) []T {
	ours, ok := q.(*cpu.QR[T])
	if p == nil || !ok || !ours.Prepacks(form.Dim, form.K) {
		return nil
	}
	form.Routines = ours
	return kernels.Packed(p, form, ours.SizeV(form.Dim, form.K, form.IB), func(dst []T) { pack(ours, dst) })
}

// unpacked ends the packings of a call that makes no use of them.
func unpacked(call *versions.Call) {
	share := kernels.PackingsOf(call)
	share.A.Done(false)
	share.B.Done(false)
}
