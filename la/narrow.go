package la

import (
	"unsafe"

	"github.com/tessera-la/tessera/blocked/tiles"
)

// narrow returns nb, which was chosen for a problem of order n, for one whose
// largest dimension is longest. If a tile is as wide as the problem, square ones
// would be small as well, and so many that most of the time went into tasks: they
// get longer, as long as there are some for each worker. AᵀA for a 200000×4 A
// took 20 ms in 25000 tasks, and gonum 5.
func narrow(e *Engine, nb, n, longest int) int {
	const largest = 512
	if e.options().NB > 0 || nb < n {
		return nb
	}
	return max(nb, min(evenly(longest, 8*e.cores()), largest))
}

// thinTile is [TileSize] for a product that is one row or column, of an m×n matrix: memory
// bounds it, so that what counts is how many bytes there are for each worker, and tasks cost
// more than they gain as long as caches hold the matrix.
//
// On two workers, one kernel took 23 µs for n = 512 and tasks 60, 102 and 96 for 724, 197 and
// 156 for 1024, 1034 and 635 for 2048, in tiles of 512, the best of 200 calls; for n = 6000
// tiles of 256, 512, 1024 and 2048 took 9.4, 9.5, 8.9 and 10.9 ms, one kernel 15.3 (float64,
// EPYC, Zen 5, beside other programs, 2026-11-24).
func thinTile[T Element](e *Engine, m, n int) (nb int, direct bool) {
	const ready, fresh, tile = 4 << 20, 8 << 20, 512
	o, longest := e.options(), max(m, n)
	upTo := ready
	if e == nil || e.brief {
		upTo = fresh
	}
	if o.Direct != 0 || o.NB > 0 || e != nil && (e.remote || e.devices) {
		size := geometric(longest, 1)
		if nb, direct = TileSize[T](e, OpGemm, size, longest); !direct {
			nb = narrow(e, nb, size, longest)
		}
		return nb, direct
	}
	if m*n <= upTo/int(unsafe.Sizeof(*new(T))) || e.cores() == 1 {
		return longest, true
	}
	return evenly(longest, max(tiles.Count(longest, tile), min(e.cores(), longest/64))), false
}
