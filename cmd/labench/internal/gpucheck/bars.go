package gpucheck

import (
	"fmt"
	"math"
)

// Bar is something that was promised of the speed on a device.
type Bar struct {
	Name string  `json:"name"`
	Want float64 `json:"want"` // at least
	Got  float64 `json:"got,omitempty"`
	// Outcome is "met", "not met" or "not measured", and Why says of what the
	// figure is, or why there is none.
	Outcome string `json:"outcome"`
	Why     string `json:"why"`
}

// What became of a bar.
const (
	Met         = "met"
	NotMet      = "not met"
	NotMeasured = "not measured"
)

// Bars judges what has been measured so far.
func Bars(r *Report) []Bar {
	bars := []Bar{tileBar(r), hostBar(r), residentBar(r), choleskyBar(r), togetherBar(r)}
	for i := range bars {
		b := &bars[i]
		switch {
		case r.Simulated:
			b.Got, b.Outcome, b.Why = 0, NotMeasured, "simulated devices have no speed of their own"
		case r.Small:
			b.Got, b.Outcome, b.Why = 0, NotMeasured, "small sizes only"
		case b.Got == 0:
			b.Outcome = NotMeasured
		case b.Got >= b.Want:
			b.Outcome = Met
		default:
			b.Outcome = NotMet
		}
	}
	return bars
}

// tileBar is about tiles in the device's memory.
func tileBar(r *Report) Bar {
	b := Bar{Name: "tile gemm, nb = 2048, over raw cuBLAS", Want: 0.95, Why: "no such point was measured"}
	for _, t := range r.Tiles {
		if t.Op == "gemm" && t.Type == "f64" && t.NB == 2048 && t.Library > 0 {
			b.Got = t.Ratio
			b.Why = fmt.Sprintf("%.0f of %.0f GFLOP/s, f64", t.GFLOPS, t.Library)
		}
	}
	return b
}

// whole returns the point of an op in f64, or a zero one.
func (r *Report) whole(op string, n int) Whole {
	for _, w := range r.Whole {
		if w.Op == op && w.Type == "f64" && w.N == n {
			return w
		}
	}
	return Whole{}
}

// fastest returns the better of what the device does alone and with the workers.
func (w Whole) fastest() Speed {
	if w.Both.GFLOPS > w.GPU.GFLOPS {
		return w.Both
	}
	return w.GPU
}

// hostBar is about a product from host memory, which takes as long at least as
// its matrices take to be copied, both ways at once, and as the library takes on
// resident ones.
func hostBar(r *Report) Bar {
	const n = 16384
	b := Bar{Name: "gemm from host memory, n = 16384, over max(transfer, compute)", Want: 0.8, Why: "no such point was measured"}
	w := r.whole("gemm", n)
	var pinned Copies
	for _, c := range r.Copies {
		if c.Memory == "pinned" {
			pinned = c
		}
	}
	if w.fastest().Seconds == 0 || w.Library == 0 || pinned.In == 0 || pinned.Out == 0 {
		return b
	}
	const matrix = 8 * n * n / 1e9
	transfer := math.Max(2*matrix/pinned.In, matrix/pinned.Out)
	compute := 2 * n * n * n / 1e9 / w.Library
	b.Got = math.Max(transfer, compute) / w.fastest().Seconds
	b.Why = fmt.Sprintf("transfer %.3f s, compute %.3f s, ours %.3f s with nb = %d", transfer, compute, w.fastest().Seconds, w.fastest().NB)
	return b
}

// residentBar is about a product of tiles that are all on the device.
func residentBar(r *Report) Bar {
	b := Bar{Name: "gemm of resident tiles, n = 16384, over raw cuBLAS", Want: 0.85, Why: "no such point was measured"}
	if w := r.whole("gemm", 16384); w.Resident > 0 && w.Library > 0 {
		b.Got = w.Resident / w.Library
		b.Why = fmt.Sprintf("%.0f of %.0f GFLOP/s", w.Resident, w.Library)
	}
	return b
}

// choleskyBar compares ours, from and to host memory, with cuSOLVER's on a
// resident matrix.
func choleskyBar(r *Report) Bar {
	b := Bar{Name: "cholesky, n = 32768, over raw cuSOLVER", Want: 0.7, Why: "no such point was measured"}
	if w := r.whole("cholesky", 32768); w.fastest().GFLOPS > 0 && w.Library > 0 {
		b.Got = w.fastest().GFLOPS / w.Library
		b.Why = fmt.Sprintf("%.0f GFLOP/s from host memory, nb = %d, of %.0f on a resident matrix", w.fastest().GFLOPS, w.fastest().NB, w.Library)
	}
	return b
}

// togetherBar is about workers and the device together, wherever both were
// measured.
func togetherBar(r *Report) Bar {
	b := Bar{Name: "CPU and GPU together, over GPU alone, the worst", Want: 0.98, Why: "no such point was measured"}
	for _, w := range r.Whole {
		if w.Both.GFLOPS == 0 || w.GPU.GFLOPS == 0 {
			continue
		}
		if x := w.Both.GFLOPS / w.GPU.GFLOPS; b.Got == 0 || x < b.Got {
			b.Got, b.Why = x, fmt.Sprintf("%s %s, n = %d", w.Op, w.Type, w.N)
		}
	}
	return b
}
