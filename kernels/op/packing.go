package op

import (
	"math"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// packedLeft returns the tile t, of which op(t) is m×k, on the left of products; nil if they
// read it where it lies.
func packedLeft[T kernels.Element](p *kernels.Packing, r *cpu.Packed[T], t *kernels.Tile[T], trans blas.Transpose, m, k int) []T {
	if !r.PacksA(trans, m, t.Stride) {
		return nil
	}
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

// Roles of an operand that is shared packed. See [versions.Op.Derive].
const (
	onLeft = iota
	onRight
	asFactor
)

// deriveFrom is the tile size from which it pays to share packed operands: as blocked's.
const deriveFrom = 160

// allRoom is for packings that others bound.
var allRoom = kernels.NewPackingRoom(math.MaxInt64)

// derive returns a function that has tasks share their first operand in a role, and the operand
// right in the role onRight unless that is negative.
func derive[T kernels.Element](role, right int) func([]any, func(int, int, func() versions.Derived) versions.Derived) any {
	fresh := func() versions.Derived {
		p := &kernels.Packing{}
		p.Init(allRoom, math.MaxInt)
		return p
	}
	return func(args []any, of func(int, int, func() versions.Derived) versions.Derived) any {
		if t, ok := args[0].(*kernels.Tile[T]); !ok || min(t.Rows, t.Cols) < deriveFrom {
			return nil
		}
		x := &kernels.Packings{}
		x.A, _ = of(0, role, fresh).(*kernels.Packing)
		if right >= 0 {
			x.B, _ = of(right, onRight, fresh).(*kernels.Packing)
		}
		return x
	}
}

// unpacked ends the packings of a call that makes no use of them.
func unpacked(call *versions.Call) {
	share := kernels.PackingsOf(call)
	share.A.Done(false)
	share.B.Done(false)
}
