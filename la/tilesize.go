package la

import (
	"fmt"

	"github.com/tessera-la/tessera/exec"
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
)

func (op Operation) String() string {
	names := [...]string{"gemm", "syrk", "trsm", "cholesky"}
	if int(op) < len(names) {
		return names[op]
	}
	return fmt.Sprintf("Operation(%d)", uint8(op))
}

// TuningKey names op on T in a profile, as in "cholesky/f64".
func TuningKey[T Element](op Operation) string {
	var zero T
	if _, ok := any(zero).(float32); ok {
		return op.String() + "/f32"
	}
	return op.String() + "/f64"
}

// TileSize returns the tile size with which the engine computes op on T for a
// result whose size goes by n — the order of a symmetric or triangular
// matrix, else the smaller dimension — in a problem whose largest dimension is
// longest. If such a problem is given to one kernel as a whole, direct is true
// and nb is longest.
//
// The tile size is Options.NB, else what tuning has left in the profile for
// the nearest size, else a default.
func TileSize[T Element](e *Engine, op Operation, n, longest int) (nb int, direct bool) {
	if e.goesDirect(longest) {
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
		if nb, ok := o.Profile.TileSize(TuningKey[T](op), e.target(), len(e.Workers()), n); ok && nb <= maxNB {
			return nb
		}
	}
	switch {
	case n <= 512:
		return 64
	case n <= 1024:
		return 128
	case n <= 3072:
		return 192
	}
	return 256
}

// target returns what the engine's workers offer to versions.
func (e *Engine) target() *versions.Target {
	if e == nil {
		return exec.Here()
	}
	return e.rt.Target()
}

// goesDirect reports whether a problem of order n goes to one kernel.
func (e *Engine) goesDirect(n int) bool {
	o := e.options()
	switch {
	case o.Direct < 0:
		return false
	case o.Direct > 0:
		return n <= o.Direct
	}
	return n <= 128
}
