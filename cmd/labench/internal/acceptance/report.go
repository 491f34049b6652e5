package acceptance

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tessera-la/tessera/cmd/labench/internal/gpucheck"
	"github.com/tessera-la/tessera/internal/report"
)

// gpuReport returns what labench gpu-check prints.
func gpuReport(r *gpucheck.Report, p report.Paint) string {
	var b strings.Builder
	line := func(name, text string) { b.WriteString(report.Wrapped(report.Label(name), text)) }
	head := func(name, text string) { b.WriteString(report.Label(name) + p.Faint(text) + "\n") }
	line("machine", r.Machine)
	line("program", r.Build)
	line("device", r.Device.String())
	for _, n := range r.Device.Notes {
		line("", n)
	}

	if len(r.Copies) > 0 {
		head("copies", fmt.Sprintf("%-12s %10s %10s %10s %10s", "GB/s", "bytes", "in", "out", "both"))
		var all []float64
		for _, c := range r.Copies {
			all = append(all, c.In, c.Out, c.Both)
		}
		figure := ratesOf(all...)
		for _, c := range r.Copies {
			fmt.Fprintf(&b, "%s%-12s %10s %10s %10s %10s\n", report.Label(""), c.Memory, report.Bytes(float64(c.Bytes)), figure(c.In), figure(c.Out), figure(c.Both))
		}
	}
	if l := r.Latency; l != nil {
		line("latency", fmt.Sprintf("8 bytes %.1f µs, a product of 1×1 %.1f µs, as a tile %.1f µs", l.Copy, l.Gemm, l.Tile))
	}
	if len(r.Tiles) > 0 {
		head("tiles", fmt.Sprintf("%-12s %6s %12s %12s %8s %8s", "GFLOP/s", "nb", "tiles", "library", "ratio", "apart"))
		var all, apart []float64
		for _, t := range r.Tiles {
			all, apart = append(all, t.GFLOPS, t.Library), append(apart, t.Apart)
		}
		figure, launched := ratesOf(all...), ratesOf(apart...)
		for _, t := range r.Tiles {
			fmt.Fprintf(&b, "%s%-12s %6d %12s %12s %8s %8s\n", report.Label(""), t.Op+"/"+t.Type, t.NB, figure(t.GFLOPS), figure(t.Library), ratio(t.Ratio), launched(t.Apart))
		}
	}
	if len(r.Whole) > 0 {
		head("whole", fmt.Sprintf("%-12s %6s %5s %7s %7s %7s %9s %8s", "GFLOP/s", "n", "nb", "CPU", "GPU", "both", "resident", "library"))
		var all []float64
		for _, w := range r.Whole {
			all = append(all, w.CPU.GFLOPS, w.GPU.GFLOPS, w.Both.GFLOPS, w.Resident, w.Library)
		}
		figure := ratesOf(all...)
		for _, w := range r.Whole {
			fmt.Fprintf(&b, "%s%-12s %6d %5s %7s %7s %7s %9s %8s\n", report.Label(""), report.Clip(w.Op+"/"+w.Type, 12), w.N, order(max(w.GPU.NB, w.Both.NB)),
				figure(w.CPU.GFLOPS), figure(w.GPU.GFLOPS), figure(w.Both.GFLOPS), figure(w.Resident), figure(w.Library))
		}
		line("", "CPU, GPU and both: from and to host memory; resident: tiles on the device; library: cuBLAS and cuSOLVER on matrices there")
	}
	name := "left out"
	for _, s := range r.Skipped {
		line(name, s.Point+": "+s.Why)
		name = ""
	}
	name = "failed"
	for _, f := range r.Errors {
		line(name, f.Point+": "+f.Error)
		name = ""
	}
	if r.Point != "" {
		line("unfinished", r.Point)
	}
	verdict := p.Good("everything that was looked at is right")
	if why := r.Wrong(); why != "" {
		verdict = p.Bad("something is wrong")
	}
	took := time.Duration(r.Seconds * float64(time.Second)).Round(time.Second / 10)
	fmt.Fprintf(&b, "%s%s, in %v of %v\n", report.Label("result"), verdict, took, time.Duration(r.Budget*float64(time.Second)))
	return b.String()
}

// ratesOf returns a function that formats the rates of one table alike, in at most eight columns, with a dash
// for rates that were not measured.
func ratesOf(all ...float64) func(float64) string {
	rate := report.Decimals(all...)
	return func(x float64) string {
		if x == 0 {
			return "–"
		}
		return rate(x)
	}
}

// order formats an order, with a dash for 0.
func order(n int) string {
	if n == 0 {
		return "–"
	}
	return strconv.Itoa(n)
}

// ratio formats a ratio with three digits, with a dash for 0.
func ratio(x float64) string {
	if x == 0 {
		return "–"
	}
	return fmt.Sprintf("%.3f", x)
}
