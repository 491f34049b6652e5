package op

import (
	"math"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// packedLeft returns the packed tile t for the left side of products, where op(t) is m×k; nil if
// products read it in place.
func packedLeft[T kernels.Element](p *kernels.Packing, r *cpu.Packed[T], t *kernels.Tile[T], trans blas.Transpose,
	m, k int) []T {
	if !r.PacksA(trans, m, t.Stride) {
		return nil
	}
	return kernels.Packed(p, kernels.PackingForm{Routines: r, Dim: m, K: k, Trans: trans != blas.NoTrans},
		r.SizeA(m, k), func(dst []T) {
			r.PackA(dst, trans, m, k, t.Data, t.Stride)
		})
}

// packedRight returns the packed tile t for the right side of products, where op(t) is k×n.
func packedRight[T kernels.Element](p *kernels.Packing, r *cpu.Packed[T], t *kernels.Tile[T], trans blas.Transpose,
	n, k int) []T {
	return kernels.Packed(p, kernels.PackingForm{Routines: r, Dim: n, K: k, Right: true,
		Trans: trans != blas.NoTrans}, r.SizeB(n, k), func(dst []T) {
		r.PackB(dst, trans, n, k, t.Data, t.Stride)
	})
}

// packedFactor returns the packed orthogonal factor that form describes, for the routines q; nil
// if they do not pack it.
func packedFactor[T kernels.Element](p *kernels.Packing, q cpu.QRRoutines[T], form kernels.PackingForm,
	pack func(ours *cpu.QR[T], dst []T)) []T {
	ours, ok := q.(*cpu.QR[T])
	if p == nil || !ok || !ours.Prepacks(form.Dim, form.K) {
		return nil
	}
	form.Routines = ours
	return kernels.Packed(p, form, ours.SizeV(form.Dim, form.K, form.IB), func(dst []T) { pack(ours, dst) })
}

// The roles of an operand that tasks share packed: see [versions.Op.Derive].
const (
	onLeft = iota
	onRight
	asFactor
)

// shareFrom is the tile size from which sharing packed operands pays: the same as in package
// blocked.
const shareFrom = 160

// unlimited is the room of packings whose memory the caller bounds.
var unlimited = kernels.NewPackingRoom(math.MaxInt64)

// deriver returns what tasks share of an operand in a role, which fresh makes for the first of them.
type deriver = func(operand, role int, fresh func() versions.Derived) versions.Derived

// sharePacked returns a function for [versions.Op.Derive]: tasks share their operand 0 packed in
// a role, and operand right in the role onRight unless right is negative.
func sharePacked[T kernels.Element](role, right int) func([]any, deriver) any {
	fresh := func() versions.Derived {
		p := &kernels.Packing{}
		p.Init(unlimited, math.MaxInt)
		return p
	}
	return func(args []any, of deriver) any {
		if t, ok := args[0].(*kernels.Tile[T]); !ok || min(t.Rows, t.Cols) < shareFrom {
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

// skipPackings ends the packings of a call that does not use them.
func skipPackings(call *versions.Call) {
	packings := kernels.PackingsOf(call)
	packings.A.Done(false)
	packings.B.Done(false)
}
