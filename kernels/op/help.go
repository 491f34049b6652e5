package op

import (
	"sync"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// helpFrom is the work in flops from which another core helps with a call. helpWork is the least work
// for each core. Waking a thread takes some ten microseconds. The part of a tile that another core has
// written is not in the cache of the core that continues with the tile. See
// docs/internals/measurements.md.
const helpFrom, helpWork = 500e6, 50e6

// byWork is the helper of ops whose calls use units for so much work. They need not stay until the end.
func byWork[T kernels.Element](work func(*versions.Call) float64) helper[T] {
	return func(implementation[T]) func(*versions.Call) (int, bool) {
		return func(call *versions.Call) (int, bool) { return help(work(call)) }
	}
}

// help returns how many units a call with that much work uses. They need not stay until its end.
func help(work float64) (units int, stay bool) {
	if work < helpFrom {
		return 1, false
	}
	return int(min(work/helpWork, 1<<10)), false
}

// sharing is byWork for ops whose calls only routines of package cpu can share, and not those of a C library.
func sharing[T kernels.Element](work func(*versions.Call) float64) helper[T] {
	return func(by implementation[T]) func(*versions.Call) (int, bool) {
		if _, ok := by.blas.(*cpu.Packed[T]); !ok {
			return nil
		}
		return byWork[T](work)(by)
	}
}

// inStep is the helper of ops whose units synchronize once a column, row or panel, and so stay until the end of a
// call: one unit for each alone of its size, up to which one is as fast as several.
func inStep[T kernels.Element](alone float64, size func(*versions.Call) float64) helper[T] {
	return func(implementation[T]) func(*versions.Call) (int, bool) {
		return func(call *versions.Call) (int, bool) { return max(1, int(size(call)/alone)), true }
	}
}

// order returns the number of rows of operand 0.
func order[T kernels.Element](call *versions.Call) float64 { return float64(arg[T](call, 0).Rows) }

// gangRoutines returns r on all units of the call's gang, or r itself if there is no gang or r
// cannot share a call.
func gangRoutines[T kernels.Element](r cpu.Routines[T], call *versions.Call) cpu.Routines[T] {
	if call.Gang == nil {
		return r
	}
	p, ok := r.(*cpu.Packed[T])
	if !ok {
		return r
	}
	return p.Shared(call.Gang.Units(), crew[T](call))
}

// multiplier multiplies operands that may be packed already.
type multiplier[T kernels.Element] interface {
	GemmPacked(transA, transB blas.Transpose, m, n, k int, alpha T, a []T, lda int, ap []T, b []T, ldb int, bp []T,
		beta T, c []T, ldc int, work []T)
}

// gangPacked is [gangRoutines] for products of packed operands.
func gangPacked[T kernels.Element](p *cpu.Packed[T], call *versions.Call) multiplier[T] {
	if call.Gang == nil {
		return p
	}
	return p.Shared(call.Gang.Units(), crew[T](call))
}

// crew returns the function with which routines run parts of a call on its gang.
func crew[T kernels.Element](call *versions.Call) cpu.Crew[T] {
	return func(parts, work int, f func(part, parts int, work []T)) {
		call.Parallel(parts, func(i int, w *versions.Workspace) { f(i, parts, versions.Scratch[T](w, work)) })
	}
}

// crewOrAlone is [crew] for calls with many steps. Without a gang, all parts of a step share one workspace, which
// later steps and calls use again.
func crewOrAlone[T kernels.Element](call *versions.Call) cpu.Crew[T] {
	if call.Gang != nil {
		return crew[T](call)
	}
	return func(parts, work int, f func(part, parts int, work []T)) {
		w := workspaces.Get().(*versions.Workspace)
		defer workspaces.Put(w)
		for i := range parts {
			f(i, parts, versions.Scratch[T](w, work))
		}
	}
}

// workspaces has the workspaces of calls without a gang. They come in addition to versions.Call.Work.
var workspaces = sync.Pool{New: func() any { return new(versions.Workspace) }}

// gangQR returns q on all units of the call's gang, as [gangRoutines] does, and for the packed
// factor vp if that is not nil.
func gangQR[T kernels.Element](q cpu.QRRoutines[T], call *versions.Call, vp []T) cpu.QRRoutines[T] {
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
