package la

import (
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/versions"
)

// Operation is an operation of this package, for which tile sizes are chosen
// and tuned.
type Operation uint8

// The operations.
const (
	OpGemm Operation = iota
	OpSyrk
	OpTrsm
	OpCholesky
	OpLU
	OpQR
)

func (op Operation) String() string {
	return nameOf([]string{"gemm", "syrk", "trsm", "cholesky", "lu", "qr"}, uint8(op), "Operation")
}

// TuningKey names op on T in a profile, as in "cholesky/f64".
func TuningKey[T Element](op Operation) string {
	return op.String() + "/" + scalar.Of[T]().String()
}

// TileSize returns the tile size with which the engine computes op on T for a
// result whose size goes by n — the order of a symmetric or triangular
// matrix, else the geometric mean of rows and columns, which tells the number
// of tiles — in a problem whose largest dimension is longest. If such a problem
// is given to one kernel as a whole, direct is true and nb is longest.
//
// The tile size is Options.NB. Else n is divided evenly: into as many tiles as
// what tuning has left in the profile for the nearest size makes of it, or into
// a default number by operation, size and number of workers; if there are
// accelerators, and the engine is not Deterministic, into larger tiles, which suit
// these, from n = 4096 on; so QR if Options.Runtime is that of several nodes.
func TileSize[T Element](e *Engine, op Operation, n, longest int) (nb int, direct bool) {
	if goesDirect[T](e, op, longest) {
		return longest, true
	}
	return tileSize[T](e, op, n), false
}

// tileSize is TileSize for a problem that is cut into tiles.
func tileSize[T Element](e *Engine, op Operation, n int) int {
	o := e.options()
	if o.NB > 0 {
		return o.NB
	}
	if o.Profile != nil && !o.Deterministic {
		if nb, ok := o.Profile.TileSize(TuningKey[T](op), e.target(), e.cores(), n); ok && nb <= maxNB {
			return evenly(n, tiles.Count(n, nb))
		}
	}
	_, nodes := o.Runtime.(exec.Keeper)
	parts := defaultParts(op, n, e.cores(), nodes && !o.Deterministic)
	if e != nil && e.devices && !o.Deterministic {
		parts = deviceParts(op, n, parts)
	}
	return evenly(n, parts)
}

// cores returns the number of workers that defaults go by: where they must not
// depend on it, two.
func (e *Engine) cores() int {
	switch {
	case e == nil:
		return exec.DefaultWorkers()
	case e.opt.Deterministic:
		return 2
	case e.hosts > 0:
		return e.hosts
	}
	return exec.DefaultWorkers()
}

// target returns what the engine's workers offer to versions.
func (e *Engine) target() *versions.Target {
	if e == nil || e.brief {
		return exec.Here()
	}
	return e.rt.Target()
}

// goesDirect reports whether a problem of order n on T goes to one kernel.
func goesDirect[T Element](e *Engine, op Operation, n int) bool {
	o := e.options()
	switch {
	case o.Direct < 0, e != nil && e.remote:
		return false
	case o.Direct > 0:
		return n <= o.Direct
	case o.NB > 0 && n > o.NB:
		return false // a tile size that is asked for is used
	}
	// The number of workers may be the environment's, which small problems should not pay for.
	return n <= alwaysDirect || n <= directUpTo[T](op, e.cores(), e != nil && !e.brief)
}

// solvesDirect reports whether the solution with a triangle of order n, stored
// in mt×mt tiles, for nrhs right-hand sides goes to kernels as a whole: besides
// where the larger of both calls for it, where the triangle is one tile and there
// is no more to do than for a square problem that does. Tasks for few right-hand
// sides would only wait for one another: Cholesky's SolveTo of order 320, 400 and
// 440 with one of them took 57, 75 and 91 µs by tasks and 42, 61 and 70 µs
// without, the best of 3000 calls on two workers beside other programs, and on
// average of those at 400 and 440 less than half (Xeon model 167, 2026-11-20,
// against commit 9e252db).
func solvesDirect[T Element](e *Engine, mt, n, nrhs int) bool {
	if mt != 1 || e != nil && e.remote {
		return false
	}
	if goesDirect[T](e, OpTrsm, max(n, nrhs)) {
		return true
	}
	upTo := float64(directUpTo[T](OpTrsm, e.cores(), e != nil && !e.brief))
	return e.options().Direct == 0 && float64(n)*float64(n)*float64(nrhs) <= upTo*upTo*upTo
}
