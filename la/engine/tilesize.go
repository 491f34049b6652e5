package engine

import (
	"math"
	"slices"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/internal/words"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
)

// Operation is an operation for which this package chooses and tunes tile sizes.
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

var operations = words.Of[Operation]{"gemm", "syrk", "trsm", "cholesky", "lu", "qr"}

func (op Operation) String() string { return operations.Name(op) }

// TuningKey returns the name of op on T in a profile, as in "cholesky/f64".
func TuningKey[T blocked.Element](op Operation) string {
	return op.String() + "/" + scalar.Of[T]().String()
}

// TileSize returns the tile size with which the engine computes op on T. n measures the result:
// the order of a symmetric or triangular matrix, else the geometric mean of rows and columns.
// longest is the largest dimension of the problem. If one kernel computes such a problem as a
// whole, direct is true and nb is longest.
//
// The tile size is Options.NB. If that is 0, n is divided evenly. The number of tiles comes from
// the profile, for the nearest tuned size; or else from a default by operation, size and number
// of workers. An engine that is not Deterministic takes larger tiles with accelerators, from n =
// 4096 on, and for QR on several nodes.
func TileSize[T blocked.Element](e *Engine, op Operation, n, longest int) (nb int, direct bool) {
	if GoesDirect[T](e, op, longest) {
		return longest, true
	}
	return Cut[T](e, op, n), false
}

// ProductTileSize is [TileSize] for a product, or triangular system, of m·n·k multiplications. One kernel computes a thin one,
// too, unless the engine's options say what is direct: one with at most half of the multiplications of the largest square product
// that goes direct, in no more memory than caches hold. 10×1000 by 1000×10 takes .06 of the time of tasks by two workers,
// 1000×4 by 4×1000 .85; 100×1000 by 1000×100, which has more multiplications, 1.2, and 1800×2 by 2×1800, which is larger,
// 1.4 (Zen 4, 2026-12-01).
func ProductTileSize[T blocked.Element](e *Engine, op Operation, size, m, n, k int) (nb int, direct bool) {
	const bytes = 8 << 20
	longest := max(m, n, k)
	if o := e.Options(); o.Direct == 0 && o.NB == 0 && longest > alwaysDirect && (e == nil || !e.remote && !e.devices) {
		upTo := float64(directUpTo[T](op, e.Cores()))
		m, n, k := float64(m), float64(n), float64(k)
		if 2*m*n*k <= upTo*upTo*upTo && (m*n+n*k+k*m)*float64(scalar.Size[T]()) <= bytes {
			return longest, true
		}
	}
	return TileSize[T](e, op, size, longest)
}

// Cut is TileSize for a problem that is cut into tiles.
func Cut[T blocked.Element](e *Engine, op Operation, n int) int {
	o := e.Options()
	if o.NB > 0 {
		return o.NB
	}
	if o.Profile != nil && !o.Deterministic {
		if nb, ok := o.Profile.TileSize(TuningKey[T](op), e.target(), e.Cores(), n); ok && nb <= MaxTileSize {
			return evenTileSize(n, tiles.Count(n, nb))
		}
	}
	_, nodes := o.Runtime.(exec.Keeper)
	parts := defaultParts(op, n, e.Cores(), nodes && !o.Deterministic)
	if e != nil && e.devices && !o.Deterministic {
		parts = deviceParts(op, n, parts)
	}
	return evenTileSize(n, parts)
}

// Cores returns the number of workers by which defaults are chosen: 2 if results must not depend
// on it.
func (e *Engine) Cores() int {
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

// GoesDirect reports whether one kernel computes a problem of order n on T as a whole.
func GoesDirect[T blocked.Element](e *Engine, op Operation, n int) bool {
	o := e.Options()
	switch {
	case o.Direct < 0, e != nil && e.remote:
		return false
	case o.Direct > 0:
		return n <= o.Direct
	case o.NB > 0 && n > o.NB:
		return false // a tile size that is asked for is used
	}
	// The number of workers may be the environment's, which small problems should not pay for.
	return n <= alwaysDirect || n <= directUpTo[T](op, e.Cores())
}

// SolvesDirect reports whether kernels on the calling goroutine solve with a triangle of order n,
// in mt×mt tiles, for nrhs right-hand sides: if the larger of n and nrhs goes direct, or if the
// triangle is one tile and the work is no more than that of a square problem that goes direct.
// Tasks for few right-hand sides would only wait for one another (Cholesky.SolveTo of order 320
// to 440 with one right-hand side: 57 to 91 µs by tasks, 42 to 70 µs without; two workers, Xeon
// model 167, 2026-11-20).
func SolvesDirect[T blocked.Element](e *Engine, mt, n, nrhs int) bool {
	if mt != 1 || e != nil && e.remote {
		return false
	}
	if GoesDirect[T](e, OpTrsm, max(n, nrhs)) {
		return true
	}
	upTo := float64(directUpTo[T](OpTrsm, e.Cores()))
	return e.Options().Direct == 0 && float64(n)*float64(n)*float64(nrhs) <= upTo*upTo*upTo
}

// NarrowTile returns the tile size for a problem of order n whose largest dimension is longest;
// nb is the tile size for order n. If one tile is as wide as the problem, square tiles would be
// small and many, and the tasks would cost more than the work. Such tiles become longer, as long
// as there are several for each worker.
func NarrowTile(e *Engine, nb, n, longest int) int {
	const largest = 512
	if e.Options().NB > 0 || nb < n {
		return nb
	}
	return max(nb, min(evenTileSize(longest, 8*e.Cores()), largest))
}

// VectorTile is [TileSize] for a product with one row or column, of an m×n matrix. Memory
// bandwidth bounds it: the number of bytes for each worker decides, and tasks cost more than they
// gain as long as caches hold the matrix.
//
// Measured on two workers: tasks win from n = 1024 on, and tiles of 1024 or less are
// within 10 % of the best at n = 6000 (float64, EPYC, Zen 5, 2026-11-24).
func VectorTile[T blocked.Element](e *Engine, m, n int) (nb int, direct bool) {
	const upTo, tile = 4 << 20, 512
	o, longest := e.Options(), max(m, n)
	if o.Direct != 0 || o.NB > 0 || e != nil && (e.remote || e.devices) {
		size := MeanOrder(longest, 1)
		if nb, direct = TileSize[T](e, OpGemm, size, longest); !direct {
			nb = NarrowTile(e, nb, size, longest)
		}
		return nb, direct
	}
	if m*n <= upTo/scalar.Size[T]() || e.Cores() == 1 {
		return longest, true
	}
	return evenTileSize(longest, max(tiles.Count(longest, tile), min(e.Cores(), longest/64))), false
}

// QRTileSize returns the tile size for the QR factorization of an m×n matrix on e, and whether one kernel factors it as a
// whole. forced is a tile size that is asked for, or 0; one kernel never factors a larger matrix than that.
func QRTileSize[T blocked.Element](e *Engine, forced, m, n int) (nb int, direct bool) {
	longest := max(1, m, n)
	if (forced == 0 || longest <= forced) && FactorsDirect[T](e, OpQR, m, n) {
		return longest, true
	}
	if forced == 0 {
		forced = e.Options().NB
	}
	if forced > 0 {
		return forced, false
	}
	nb, short := Cut[T](e, OpQR, MeanOrder(m, n)), max(1, min(m, n))
	if short >= nb {
		return evenTileSize(short, tiles.Count(short, nb)), false
	}
	// A tile of a narrow matrix is no wider than that. It gets as many elements
	// by being longer, as long as there are some for each worker.
	long := min(nb*nb/short, longest/(2*max(1, e.Cores())))
	return min(max(nb, evenTileSize(longest, tiles.Count(longest, max(1, long)))), MaxTileSize), false
}

// FactorsDirect reports whether one kernel computes the LU or QR factorization of an m×n matrix: whether its longer side goes
// direct or it has no more elements than a square matrix that does. It is in the second-level cache then, and there are few
// products for other workers: 300×100, 1000×50 and 2000×20 take .52, .73 and .80 of the time of tasks by two workers with QR,
// 400×100, 1000×100 and 5000×10 .56, .52 and .44 with LU (Zen 4, 2026-12-01).
func FactorsDirect[T blocked.Element](e *Engine, op Operation, m, n int) bool {
	if GoesDirect[T](e, op, max(m, n)) {
		return true
	}
	o := e.Options()
	return o.Direct == 0 && o.NB == 0 && GoesDirect[T](e, op, MeanOrder(m, n))
}

// LUTileSize returns the tile size for the LU factorization of an m×n matrix that is cut into tiles. shared says
// that its pivoting lets several workers share a panel.
func LUTileSize[T blocked.Element](e *Engine, m, n int, shared bool) int {
	k := min(m, n)
	nb := Cut[T](e, OpLU, k)
	if shared && e.Options().NB == 0 && e.Cores() > 1 && sharedPanels[T](e, m, k) {
		nb = sharedPanel(k)
	}
	return NarrowTile(e, nb, k, max(m, n))
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
func sharedPanels[T blocked.Element](e *Engine, m, k int) bool {
	if k == 0 {
		return false
	}
	// What a version shares may depend on the shape of the panel.
	nb := sharedPanel(k)
	call := &versions.Call{Params: &op.Getrf{}, Args: []any{
		&kernels.Tile[T]{Rows: m, Cols: nb, Stride: nb}, &kernels.Pivots{},
	}}
	o := kernels.For[T](e.Table()).Op("getrf")
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

// The defaults were measured on 2026-11-20 at commit d52d360 (directUpTo at
// b9f1aca), version avx512, on 2 cores of an Intel Xeon (model 167, 2 MiB of
// second-level cache each), by
//
//	labench tune cholesky gemm syrk trsm -n 512,1024,1536,2048 --workers 1,2 \
//		--versions avx512 --profile none
//
// the same for 4096 and, for cholesky, 8192, and by
//
//	go test ./la -run '^$' -bench Direct -benchtime 60x
//
// What they say of more than two workers was not measured: it keeps the number
// of tiles for each of them. labench tune replaces the tile sizes on other
// machines.

// evenTileSize returns the tile size that divides n into that many parts, rounded up to a
// multiple of the rows of the micro-kernels. An uneven last tile would take a worker almost as
// long to begin as a full one.
func evenTileSize(n, parts int) int {
	const multiple = 8
	return max(tiles.Count(tiles.Count(n, max(parts, 1)), multiple)*multiple, multiple)
}

// defaultParts returns the number of tiles along a side by default: the fewest
// that keep the workers busy and are not too large.
//
// In a product the fewest are halves, whether one worker computes or two. Up to
// n = 2048 they were within 2 % of the best, but twice 5 %; thirds give two
// workers nine tiles, and took a tenth longer, so the number is even. Larger
// products pack their operands, which costs the less the larger the tiles are:
// one core did 4096 at 0.79 of the peak with tiles of 1024 or 2048 and at 0.69
// with 512 (docs/internals/kernels-gemm.md). In a solution tiles of 512 were the fastest,
// where from 1536 on halves won less often. In a
// factorization fewer and fewer tiles are left to work on: fifths were within 2 %
// of the best for two workers and n from 1024 to 2048, fourths within 3 % for
// one. Above, in turns in one process on two workers (commit fd55c6d), Cholesky in
// tiles of 592 was the fastest at 4096, where 688 took 4 % longer and 376 as long,
// and at 8192 as fast as in tiles of 688, where 376 took 7 % longer. With AVX2
// LU at 8192 was 1 % faster in tiles of 512 than in 376, in the median of five rounds
// on each of two days, and at 6144 as fast in tiles of 384, 440 and 512.
func defaultParts(op Operation, n, workers int, nodes bool) int {
	const smallest = 64
	busy, largest := math.Sqrt(2*float64(workers)), 512
	switch op {
	case OpCholesky:
		busy, largest = math.Sqrt(12*float64(workers)), 640
	case OpLU:
		busy, largest = math.Sqrt(24*float64(workers)), int(min(max(6*math.Sqrt(float64(n)), 384), 512))
	case OpQR:
		// A guess: on one core tiles of 256 were a fifth faster than those of 128
		// at 1024 and 2048, and the chain of a column of tiles is long.
		//
		// A task on another node costs messages, and QR has the most and the shortest
		// tasks. On two agents of one core, over HTTP on the loopback, order 8192 had 78.6
		// GFLOP/s with tiles of 320, 83.3 with 416, 85.0 with 512 and 83.8 with 640, one
		// process 89 with 320 (2 cores, EPYC, Zen 4, 2026-11-24).
		most := 320.0
		if nodes {
			most = 512
		}
		busy, largest = math.Sqrt(14*float64(workers)), int(min(max(6*math.Sqrt(float64(n)), 192), most))
	}
	parts := max(min(int(math.Ceil(busy)), n/smallest), 1)
	if op == OpGemm || op == OpSyrk {
		const largest = 1024
		if n <= largest*parts {
			return parts
		}
		return roundUp(tiles.Count(n, largest), 2)
	}
	return max(parts, tiles.Count(n, largest))
}

// deviceParts returns the number of tiles along a side if there are accelerators, where cores is
// the number for cores alone. It is a guess, not measured. Tile libraries take tiles of 960 to
// 2048 for devices; an H200 launches a product of order 512 in the time of its computation.
// Sixteen tiles along a side leave enough independent tasks to a factorization. The critical path has the
// panels of LU and QR, so these are no wider than 1024. Below 4096 the number for cores stays.
func deviceParts(op Operation, n, cores int) int {
	const least, smallest, largest = 4096, 1024, 2048
	if n < least {
		return cores
	}
	nb := min(max(n/16, smallest), largest)
	if op == OpLU || op == OpQR {
		nb = smallest
	}
	return min(tiles.Count(n, nb), cores)
}

// roundUp returns the least multiple of m that is at least n.
func roundUp(n, m int) int { return tiles.Count(n, m) * m }

// directUpTo returns the largest order of a problem on T that one kernel computes by default: up
// to there it takes less time than tasks. One worker gains nothing from tiles, but above that order loses nothing either, and
// can stop between tasks.
func directUpTo[T blocked.Element](op Operation, workers int) int {
	if workers == 1 {
		return 640
	}
	upTo := [...]int{OpGemm: 240, OpSyrk: 240, OpTrsm: 304, OpCholesky: 440, OpLU: 320, OpQR: 256}[op]
	return scalar.Pick[T](upTo*5/4, upTo) // 2^(1/3): twice as fast, it takes as long
}

// MeanOrder returns the geometric mean of m and n, rounded: the order of a square matrix with as many elements.
func MeanOrder(m, n int) int { return int(math.Round(math.Sqrt(float64(m) * float64(n)))) }
