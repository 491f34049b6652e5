package gpucheck

import "time"

// sizes are the sizes of all measurements.
type sizes struct {
	copied int64 // bytes of a copy
	times  int   // number of repetitions of a copy
	tiles  []int // nb, ascending
	target time.Duration
	rounds int
	again  []problem // the first tile size counts
	whole  []problem
}

// problem is a product or a factorization of one size.
type problem struct {
	op, typ  string
	n        int
	nb       []int // tile sizes to try on the device; 0: la's choice
	verify   bool
	resident int // nb of resident tiles; 0: not measured
}

// full returns the sizes for a real device. Within each operation the most important come first, as long as
// larger sizes do not need the results of smaller ones.
func full() sizes {
	s := sizes{copied: 256 << 20, times: 5, tiles: []int{256, 512, 1024, 2048, 4096}, target: 100 * time.Millisecond, rounds: 3}
	for _, op := range []string{"cholesky", "lu", "qr"} {
		s.again = append(s.again, problem{op: op, typ: "f64", n: 8192, nb: []int{1024}})
	}
	s.whole = []problem{
		{op: "gemm", typ: "f64", n: 4096, nb: []int{0, 1024}, verify: true, resident: 1024},
		{op: "cholesky", typ: "f64", n: 4096, nb: []int{0, 1024}, verify: true},
		{op: "gemm", typ: "f64", n: 16384, nb: []int{0, 2048}, resident: 2048},
		{op: "cholesky", typ: "f64", n: 32768, nb: []int{0, 2048}},
		{op: "lu", typ: "f64", n: 4096, nb: []int{0}, verify: true},
		{op: "qr", typ: "f64", n: 4096, nb: []int{0}, verify: true},
		{op: "gemm", typ: "f32", n: 4096, nb: []int{0}, verify: true},
		{op: "cholesky", typ: "f32", n: 4096, nb: []int{0}, verify: true},
		{op: "lu", typ: "f32", n: 4096, nb: []int{0}, verify: true},
		{op: "qr", typ: "f32", n: 4096, nb: []int{0}, verify: true},
		{op: "gemm", typ: "f64", n: 8192, nb: []int{0, 2048}, resident: 2048},
		{op: "cholesky", typ: "f64", n: 16384, nb: []int{0, 2048}},
		{op: "lu", typ: "f64", n: 16384, nb: []int{0, 1024}},
		{op: "qr", typ: "f64", n: 8192, nb: []int{0, 1024}},
		{op: "gemm", typ: "f32", n: 16384, nb: []int{0, 2048}, resident: 2048},
		{op: "cholesky", typ: "f32", n: 32768, nb: []int{0, 2048}},
		{op: "lu", typ: "f64", n: 32768, nb: []int{1024}},
		{op: "qr", typ: "f64", n: 16384, nb: []int{1024}},
	}
	return s
}

// small returns sizes that a simulated device can do within seconds.
func small() sizes {
	s := sizes{copied: 1 << 20, times: 2, tiles: []int{32, 64}, target: 2 * time.Millisecond, rounds: 2}
	for _, op := range []string{"gemm", "cholesky", "lu", "qr"} {
		for _, typ := range []string{"f64", "f32"} {
			p := problem{op: op, typ: typ, n: 200, nb: []int{64}, verify: true}
			if op == "gemm" {
				p.resident = 64
			}
			if op != "gemm" && typ == "f64" {
				s.again = append(s.again, p)
			}
			s.whole = append(s.whole, p)
		}
	}
	return s
}

// flops returns the number of operations as LAPACK counts them.
func flops(p problem) float64 {
	n := float64(p.n)
	return n * n * n * map[string]float64{"gemm": 2, "cholesky": 1. / 3, "lu": 2. / 3, "qr": 4. / 3}[p.op]
}
