//go:build mpi && linux && cgo && scalapack

package scalapack

import (
	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/la/scalapack/internal/netlib"
	"github.com/tessera-la/tessera/transport/mpi"
	"github.com/tessera-la/tessera/versions"
)

// potrfOp returns an op that overwrites the lower half of A with its Cholesky factor, by ScaLAPACK on the ranks of a task.
func potrfOp(w *mpi.World) *versions.Op {
	return &versions.Op{Name: "pdpotrf", NewParams: func() any { return new(Matrices) }, Versions: []versions.Version{{Name: "scalapack", Run: w.Run(func(call *versions.Call, c *mpi.Comm) error {
		x := call.Params.(*Matrices)
		context, free, err := netlib.GridOf(c.Handle(), x.Grid.P, x.Grid.Q)
		if err != nil {
			return err
		}
		defer free()
		return Locals(call, c.Rank(), func(all []Local[float64]) error {
			d := all[0].Desc
			return netlib.Pdpotrf(false, int(d.N), all[0].Data, [9]int32{d.Type, context, d.M, d.N, d.MB, d.NB, d.RSrc, d.CSrc, d.LLD})
		})
	})}}}
}

// pdpotrf overwrites theirs with the Cholesky factor of what it holds: by ScaLAPACK.
func pdpotrf(g Grid, h *held, _ int) error {
	context, err := netlib.Grid(g.P, g.Q)
	if err != nil {
		return err
	}
	d := h.desc
	return netlib.Pdpotrf(h.kind == blocked.SymUpper, h.n, h.theirs, [9]int32{d.Type, context, d.M, d.N, d.MB, d.NB, d.RSrc, d.CSrc, d.LLD})
}
