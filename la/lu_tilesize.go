package la

import (
	"github.com/tessera-la/tessera/blocked/tiles"
	"slices"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
)

// TileSize returns the tile size with which Factorize cuts an m×n matrix. If one kernel factors
// such a matrix as a whole, direct is true and nb is the larger of m and n. It needs no
// factorization.
func (f *LU[T]) TileSize(m, n int) (nb int, direct bool) {
	if goesDirect[T](f.engine, OpLU, max(m, n)) {
		return max(1, m, n), true
	}
	return f.tileSize(m, n), false
}

// tileSize is TileSize for a matrix that is cut into tiles.
func (f *LU[T]) tileSize(m, n int) int {
	k := min(m, n)
	nb := tileSize[T](f.engine, OpLU, k)
	if f.opt.Pivoting == PartialPivoting && f.engine.options().NB == 0 && f.engine.cores() > 1 &&
		sharedPanels[T](f.engine, m, k) {
		nb = sharedPanel(k)
	}
	return narrowTile(f.engine, nb, k, max(m, n))
}

// sharedPanel returns the width of panels that several workers share, for k pivots. Wide panels
// cross the matrix less often; two of them allow the updates of the first to run beside the
// second. Measured on 16384×256 to 65536×512 in tiles of 32 to 512: the widths taken were the
// fastest, within 5 % (Xeon model 167, two workers, labench lu --versions avx512, 2026-11-20).
func sharedPanel(k int) int {
	if k <= 128 {
		return max(1, k)
	}
	return evenTileSize(k, max(2, tiles.Count(k, 256)))
}

// sharedPanels reports whether workers share the panels of an m×n matrix with k pivots: whether a
// version of getrf that may run here lets them.
func sharedPanels[T Element](e *Engine, m, k int) bool {
	if k == 0 {
		return false
	}
	// What a version shares may depend on the shape of the panel.
	nb := sharedPanel(k)
	call := &versions.Call{Params: &op.Getrf{}, Args: []any{
		&kernels.Tile[T]{Rows: m, Cols: nb, Stride: nb}, &kernels.Pivots{},
	}}
	o := kernels.For[T](e.ops()).Op("getrf")
	share := func(v versions.Version) bool {
		if v.Help == nil {
			return false
		}
		units, stay := v.Help(call)
		return stay && units > 1
	}
	if !slices.ContainsFunc(o.Versions, share) {
		return false
	}
	selector, target := e.selection()
	x := selector.Explain(o, nil, target)
	settled := x.Why == versions.Sole || x.Why == versions.Pinned || x.Why == versions.Remaining ||
		x.Why == versions.First
	for i, v := range o.Versions {
		if x.Versions[i].Reason == "" && (v.Name == x.Chosen || !settled) && share(v) {
			return true
		}
	}
	return false
}
