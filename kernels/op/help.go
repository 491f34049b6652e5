package op

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// helpFrom is the work, in flops, from which on it is worth while that another core
// comes to help with a call, and helpWork what there should be for each core. To
// rouse a thread takes some ten microseconds, and what the other one has written of a
// tile is not in the cache of the core that goes on with it. With calls of 6 and 20
// million flops shared, LU and QR of order 1024 were slower on two cores of an EPYC
// (Zen 3), and gemm of order 1024 with 268 million; docs/internals/measurements.md has more.
const helpFrom, helpWork = 500e6, 50e6

// help returns how many units a call of so much work makes use of; they need not stay.
func help(work float64) (units int, stay bool) {
	if work < helpFrom {
		return 1, false
	}
	return int(min(work/helpWork, 1<<10)), false
}

// helpWith returns the Help of a version by the routines of which calls cost work;
// nil if they have nothing to share.
func helpWith[T kernels.Element](routines any, work func(*versions.Call) float64) func(*versions.Call) (units int, stay bool) {
	switch routines.(type) {
	case *cpu.Packed[T], *cpu.QR[T]:
		return func(call *versions.Call) (int, bool) { return help(work(call)) }
	}
	return nil
}

// shared returns r for a call: by all who help with it, if anybody can.
func shared[T kernels.Element](r cpu.Routines[T], call *versions.Call) cpu.Routines[T] {
	if call.Gang == nil {
		return r
	}
	p, ok := r.(*cpu.Packed[T])
	if !ok {
		return r
	}
	return p.Shared(call.Gang.Units(), crew[T](call))
}

// multiplier is products of operands that may have been packed before.
type multiplier[T kernels.Element] interface {
	GemmPacked(transA, transB blas.Transpose, m, n, k int, alpha T, a []T, lda int, ap []T, b []T, ldb int, bp []T, beta T, c []T, ldc int, work []T)
}

// sharedPacked is [shared] for products of packed operands.
func sharedPacked[T kernels.Element](p *cpu.Packed[T], call *versions.Call) multiplier[T] {
	if call.Gang == nil {
		return p
	}
	return p.Shared(call.Gang.Units(), crew[T](call))
}

// crew returns those who help with a call.
func crew[T kernels.Element](call *versions.Call) cpu.Crew[T] {
	return func(parts, work int, f func(part, parts int, work []T)) {
		call.Parallel(parts, func(i int, w *versions.Workspace) { f(i, parts, versions.Scratch[T](w, work)) })
	}
}

// sharedQR returns q for a call, as [shared] returns r, and for the factor vp if that
// is not nil.
func sharedQR[T kernels.Element](q cpu.QRRoutines[T], call *versions.Call, vp []T) cpu.QRRoutines[T] {
	ours, ok := q.(*cpu.QR[T])
	if !ok {
		return q
	}
	if vp != nil {
		ours = ours.Packed(vp)
	}
	if call.Gang != nil {
		ours = ours.Shared(call.Gang.Units(), crew[T](call))
	}
	return ours
}
