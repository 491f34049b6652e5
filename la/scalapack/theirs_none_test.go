//go:build mpi && linux && cgo && !scalapack

package scalapack

import (
	"math"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/transport/mpi"
	"github.com/tessera-la/tessera/versions"
)

// potrfOp returns nil: there is no ScaLAPACK.
func potrfOp(*mpi.World) *versions.Op { return nil }

// pdpotrf overwrites theirs with the Cholesky factor of what it holds: without ScaLAPACK by the
// textbook, on all of the matrix.
func pdpotrf(g Grid, h *held, rank int) error {
	n := h.n
	l, element := make([]float64, n*n), symmetric(h.shape)
	if h.kind == blocked.SymUpper {
		below := element
		element = func(i, j int) float64 { return below(j, i) }
	}
	for j := range n {
		for i := j; i < n; i++ {
			x := element(i, j)
			for k := range j {
				x -= l[i*n+k] * l[j*n+k]
			}
			if i == j {
				l[i*n+j] = math.Sqrt(x)
			} else {
				l[i*n+j] = x / l[j*n+j]
			}
		}
	}
	p, q, _ := g.place(rank)
	elements(g, p, q, h.desc, func(i, j, at int) {
		if stores(h.kind, i, j) {
			h.theirs[at] = l[max(i, j)*n+min(i, j)]
		}
	})
	return nil
}
