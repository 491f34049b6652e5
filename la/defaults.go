package la

import (
	"github.com/tessera-la/tessera/blocked/tiles"
	"math"

	"github.com/tessera-la/tessera/internal/scalar"
)

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
// Sixteen tiles along a side leave enough independent tasks to a factorization. Cores factor the
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

// alwaysDirect is the least value of directUpTo.
const alwaysDirect = 240

// directUpTo returns the largest order of a problem on T that one kernel computes by default: up
// to there it takes less time than tasks. ready says that the workers exist; a nil engine has to
// start them. One worker gains nothing from tiles, but above that order loses nothing either, and
// can stop between tasks.
func directUpTo[T Element](op Operation, workers int, ready bool) int {
	if workers == 1 {
		return 640
	}
	upTo := [...]int{OpGemm: 300, OpSyrk: 352, OpTrsm: 400, OpCholesky: 576, OpLU: 400, OpQR: 320}[op]
	if ready {
		upTo = [...]int{OpGemm: 240, OpSyrk: 240, OpTrsm: 304, OpCholesky: 440, OpLU: 320, OpQR: 256}[op]
	}
	return scalar.Pick[T](upTo*5/4, upTo) // 2^(1/3): twice as fast, it takes as long
}

// geometric returns the geometric mean of m and n, rounded.
func geometric(m, n int) int { return int(math.Round(math.Sqrt(float64(m) * float64(n)))) }
