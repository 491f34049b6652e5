//go:build mpi && linux && cgo && scalapack

package scalapack

import (
	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/la/scalapack/internal/netlib"
)

// pdpotrf overwrites theirs with the Cholesky factor of what it holds: by ScaLAPACK.
func pdpotrf(g Grid, h *held, _ int) error {
	context, err := netlib.Grid(g.P, g.Q)
	if err != nil {
		return err
	}
	d := h.desc
	return netlib.Pdpotrf(h.kind == blocked.SymUpper, h.n, h.theirs, [9]int32{d.Type, context, d.M, d.N, d.MB, d.NB, d.RSrc, d.CSrc, d.LLD})
}
