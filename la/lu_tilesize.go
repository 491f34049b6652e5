package la

import (
	"slices"

	"github.com/tessera-la/tessera/blocked/tiles"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
)

// TileSize returns the tile size with which Factorize cuts an m×n matrix. If it
// gives such a matrix to one kernel as a whole, direct is true and nb is the
// larger of m and n. It needs no factorization.
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
	if f.opt.Pivoting == PartialPivoting && f.engine.options().NB == 0 && f.engine.cores() > 1 && sharedPanels[T](f.engine, m, k) {
		nb = sharedPanel(k)
	}
	return narrow(f.engine, nb, k, max(m, n))
}

// sharedPanel returns the width of panels that several workers share, for k
// pivots. Wide ones cross the matrix less often; two of them let the updates of
// the first go beside the second. Of 65536×512 in tiles of 80 (the default
// otherwise), 128, 176, 256, 344 and 512 the factorization took 433, 406, 352,
// 327, 314 and 357 ms, of 32768×512 in tiles of 128, 256 and 512 179, 159 and
// 165, of 65536×64 in tiles of 32 and 64 44 and 26, of 16384×256 in 64, 128 and
// 256 37, 33 and 34 (Xeon model 167, two workers, labench lu --versions avx512,
// best of five to nine, 2026-11-20).
func sharedPanel(k int) int {
	if k <= 128 {
		return max(1, k)
	}
	return evenly(k, max(2, tiles.Count(k, 256)))
}

// sharedPanels reports whether workers share the panels of an m×n matrix with k
// pivots: if a version of getrf that may run here lets them.
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
	settled := x.Why == versions.Sole || x.Why == versions.Pinned || x.Why == versions.Remaining || x.Why == versions.First
	for i, v := range o.Versions {
		if x.Versions[i].Reason == "" && (v.Name == x.Chosen || !settled) && share(v) {
			return true
		}
	}
	return false
}
