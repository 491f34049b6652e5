package lu

import (
	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/internal/submit"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
)

// Pivots holds the row interchanges of the LU factorization of a [blocked.Matrix],
//
//	A = P·L·U,
//
// panel by panel. Panel k is tile column k from tile row k down; its interchanges
// count rows from the top of tile row k. Pivots must be read only when the tasks
// that write it have ended, and is safe for concurrent reads then.
type Pivots struct {
	m, n, nb int
	panels   []kernels.Pivots
}

// NewPivots returns room for the interchanges of an m×n matrix with tiles of
// nb×nb. It panics with ErrShape if m or n is negative or nb < 1.
func NewPivots(m, n, nb int) *Pivots {
	if m < 0 || n < 0 || nb < 1 {
		panic(blocked.ErrShape)
	}
	v := &Pivots{m: m, n: n, nb: nb, panels: make([]kernels.Pivots, tiles.Count(min(m, n), nb))}
	rows := make([]int, min(m, n))
	for k := range v.panels {
		lo, hi := k*nb, min((k+1)*nb, len(rows))
		v.panels[k].Rows = rows[lo:hi:hi]
		for i := range hi - lo {
			v.panels[k].Rows[i] = i
		}
	}
	return v
}

// Len returns the number of interchanges, min(m, n).
func (v *Pivots) Len() int { return min(v.m, v.n) }

// Panel returns the interchanges of panel k, for a kernel that is called
// without a task. It panics with ErrIndex if there is no such panel.
func (v *Pivots) Panel(k int) *kernels.Pivots {
	if uint(k) >= uint(len(v.panels)) {
		panic(blocked.ErrIndex)
	}
	return &v.panels[k]
}

// Info returns LAPACK's info: the column, counted from 1, of the first zero on the
// diagonal of U, or 0 if there is none.
func (v *Pivots) Info() int {
	for k := range v.panels {
		if info := v.panels[k].Info; info != 0 {
			return info
		}
	}
	return 0
}

// Swaps writes the interchanges to dst, which has [Pivots.Len] elements: row i
// was exchanged with row dst[i] ≥ i, for i = 0, 1, … This is LAPACK's ipiv
// counted from 0.
func (v *Pivots) Swaps(dst []int) {
	for k := range v.panels {
		for i, r := range v.panels[k].Rows {
			dst[k*v.nb+i] = k*v.nb + r
		}
	}
}

// SetSwaps replaces the interchanges by those of src, in the form of [Pivots.Swaps],
// and Info by info. It panics with ErrShape if src does not have [Pivots.Len]
// elements, and with ErrIndex unless i ≤ src[i] < m for each i.
func (v *Pivots) SetSwaps(src []int, info int) {
	if len(src) != v.Len() {
		panic(blocked.ErrShape)
	}
	for i, r := range src {
		if r < i || r >= v.m {
			panic(blocked.ErrIndex)
		}
	}
	for k := range v.panels {
		p := &v.panels[k]
		p.Rows = p.Rows[:min(v.nb, len(src)-k*v.nb)]
		for i := range p.Rows {
			p.Rows[i] = src[k*v.nb+i] - k*v.nb
		}
		p.Info = 0
		if info > k*v.nb && info <= k*v.nb+len(p.Rows) {
			p.Info = info
		}
	}
}

// Clone returns a copy of v.
func (v *Pivots) Clone() *Pivots {
	c := NewPivots(v.m, v.n, v.nb)
	swaps := make([]int, v.Len())
	v.Swaps(swaps)
	c.SetSwaps(swaps, v.Info())
	return c
}

// pivotData returns v as data, one for each panel. The owner of panel k is that of
// the diagonal tile k of a.
func pivotData[T blocked.Element](p *submit.Tasks[T], v *Pivots, a *blocked.Matrix[T]) []graph.Datum {
	return p.Data(v, "pivots", len(v.panels), 1, func(k, _ int) (versions.Value, int) { return &v.panels[k], a.NearestOwner(k, k) })
}
