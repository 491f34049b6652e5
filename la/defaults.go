package la

import "math"

// The defaults were measured on 2026-11-20 at commit b9f1aca, version avx512, on
// 2 cores of an Intel Xeon (model 167, 2 MiB of second-level cache each):
//
//	labench tune cholesky gemm syrk trsm -n 512,768,1024,1536,2048,4096 \
//		--workers 1,2 --versions avx512 --profile none
//	go test ./la -run '^$' -bench Direct -benchtime 60x
//
// What they say of more than two workers was not measured: it keeps the number
// of tiles for each of them. labench tune replaces them on other machines.

// evenly returns the tile size that divides n into so many parts, rounded up to
// a multiple of the rows of the micro-kernels. A rest at the end would take a
// worker almost as long to begin as a full tile.
func evenly(n, parts int) int {
	const multiple = 8
	return max(tiles(tiles(n, max(parts, 1)), multiple)*multiple, multiple)
}

// defaultParts returns the number of tiles along a side by default: the fewest
// that keep the workers busy and are not too large.
//
// In products and solutions two workers need four tiles and one is content with
// any number: up to n = 1024 halves were the fastest, from there on tiles of 512
// were within 6 % of the best. In a factorization fewer and fewer tiles are left
// to work on: fifths and sixths were the fastest on two workers up to 2048,
// thirds and fourths on one.
func defaultParts(op Operation, n, workers int) int {
	const smallest, largest = 64, 512
	busy := math.Sqrt(2 * float64(workers))
	if op == OpCholesky {
		busy = math.Sqrt(12 * float64(workers))
	}
	return max(min(int(math.Ceil(busy)), n/smallest), tiles(n, largest), 1)
}

// directUpTo returns the largest order of a problem on T that is given to one
// kernel by default: up to there it takes less time than tasks do, on workers
// that stand ready or, on a nil engine, have to be made for the call. One worker
// gains nothing from tiles, but above that order loses nothing either, and can
// be stopped between tasks.
func directUpTo[T Element](op Operation, workers int, ready bool) int {
	if workers == 1 {
		return 640
	}
	upTo := [...]int{OpGemm: 300, OpSyrk: 352, OpTrsm: 400, OpCholesky: 576}[op]
	if ready {
		upTo = [...]int{OpGemm: 240, OpSyrk: 240, OpTrsm: 304, OpCholesky: 440}[op]
	}
	var zero T
	if _, ok := any(zero).(float32); ok {
		return upTo * 5 / 4 // 2^(1/3): twice as fast, it takes as long
	}
	return upTo
}
