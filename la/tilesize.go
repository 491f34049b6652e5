package la

import (
	"github.com/tessera-la/tessera/blocked/tiles"
	"unsafe"

	"github.com/tessera-la/tessera/exec"
)

// TileSize returns the tile size with which the engine computes op on T. n measures the result:
// the order of a symmetric or triangular matrix, else the geometric mean of rows and columns.
// longest is the largest dimension of the problem. If one kernel computes such a problem as a
// whole, direct is true and nb is longest.
//
// The tile size is Options.NB. If that is 0, n is divided evenly. The number of tiles comes from
// the profile, for the nearest tuned size; or else from a default by operation, size and number
// of workers. An engine that is not Deterministic takes larger tiles with accelerators, from n =
// 4096 on, and for QR on several nodes.
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
			return evenTileSize(n, tiles.Count(n, nb))
		}
	}
	_, nodes := o.Runtime.(exec.Keeper)
	parts := defaultParts(op, n, e.cores(), nodes && !o.Deterministic)
	if e != nil && e.devices && !o.Deterministic {
		parts = deviceParts(op, n, parts)
	}
	return evenTileSize(n, parts)
}

// cores returns the number of workers by which defaults are chosen: 2 if results must not depend
// on it.
func (e *Engine) cores() int {
	switch {
	case e == nil:
		return exec.DefaultWorkers()
	case e.opt.Deterministic:
		return 2
	case e.cpuWorkers > 0:
		return e.cpuWorkers
	}
	return exec.DefaultWorkers()
}

// goesDirect reports whether one kernel computes a problem of order n on T as a whole.
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
	return n <= alwaysDirect || n <= directUpTo[T](op, e.cores(), !e.temporary())
}

// solvesDirect reports whether kernels on the calling goroutine solve with a triangle of order n,
// in mt×mt tiles, for nrhs right-hand sides: if the larger of n and nrhs goes direct, or if the
// triangle is one tile and the work is no more than that of a square problem that goes direct.
// Tasks for few right-hand sides would only wait for one another (Cholesky.SolveTo of order 320
// to 440 with one right-hand side: 57 to 91 µs by tasks, 42 to 70 µs without; two workers, Xeon
// model 167, 2026-11-20).
func solvesDirect[T Element](e *Engine, mt, n, nrhs int) bool {
	if mt != 1 || e != nil && e.remote {
		return false
	}
	if goesDirect[T](e, OpTrsm, max(n, nrhs)) {
		return true
	}
	upTo := float64(directUpTo[T](OpTrsm, e.cores(), !e.temporary()))
	return e.options().Direct == 0 && float64(n)*float64(n)*float64(nrhs) <= upTo*upTo*upTo
}

// narrowTile returns the tile size for a problem of order n whose largest dimension is longest;
// nb is the tile size for order n. If one tile is as wide as the problem, square tiles would be
// small and many, and the tasks would cost more than the work. Such tiles become longer, as long
// as there are several for each worker.
func narrowTile(e *Engine, nb, n, longest int) int {
	const largest = 512
	if e.options().NB > 0 || nb < n {
		return nb
	}
	return max(nb, min(evenTileSize(longest, 8*e.cores()), largest))
}

// vectorTile is [TileSize] for a product with one row or column, of an m×n matrix. Memory
// bandwidth bounds it: the number of bytes for each worker decides, and tasks cost more than they
// gain as long as caches hold the matrix.
//
// Measured on two workers: tasks win from n = 1024 on, and tiles of 1024 or less are
// within 10 % of the best at n = 6000 (float64, EPYC, Zen 5, 2026-11-24).
func vectorTile[T Element](e *Engine, m, n int) (nb int, direct bool) {
	const ready, fresh, tile = 4 << 20, 8 << 20, 512
	o, longest := e.options(), max(m, n)
	upTo := ready
	if e.temporary() {
		upTo = fresh
	}
	if o.Direct != 0 || o.NB > 0 || e != nil && (e.remote || e.devices) {
		size := geometric(longest, 1)
		if nb, direct = TileSize[T](e, OpGemm, size, longest); !direct {
			nb = narrowTile(e, nb, size, longest)
		}
		return nb, direct
	}
	if m*n <= upTo/int(unsafe.Sizeof(*new(T))) || e.cores() == 1 {
		return longest, true
	}
	return evenTileSize(longest, max(tiles.Count(longest, tile), min(e.cores(), longest/64))), false
}
