package acceptance

import (
	"fmt"
	"time"

	"github.com/tessera-la/tessera/cmd/labench/internal/gpucheck"
	"github.com/tessera-la/tessera/internal/report"
)

// gpuReport returns what labench gpu-check prints.
func gpuReport(r *gpucheck.Report, p report.Paint) string {
	var b report.Labelled
	b.Line("machine", "%s", r.Machine)
	b.Line("program", "%s", r.Build)
	b.Line("device", "%s", r.Device.String())
	for _, n := range r.Device.Notes {
		b.Line("", "%s", n)
	}
	measured(&b, p, r)
	name := "left out"
	for _, s := range r.Skipped {
		b.Line(name, "%s: %s", s.Point, s.Why)
		name = ""
	}
	name = "failed"
	for _, f := range r.Errors {
		b.Line(name, "%s: %s", f.Point, f.Error)
		name = ""
	}
	if r.Point != "" {
		b.Line("unfinished", "%s", r.Point)
	}
	verdict := p.Good("everything that was looked at is right")
	if why := r.Wrong(); why != "" {
		verdict = p.Bad("something is wrong")
	}
	took := time.Duration(r.Seconds * float64(time.Second)).Round(time.Second / 10)
	fmt.Fprintf(&b, "%s%s, in %v of %v\n", report.Label("result"), verdict, took, time.Duration(r.Budget*float64(time.Second)))
	return b.String()
}

// measured adds the tables of what was measured.
func measured(b *report.Labelled, p report.Paint, r *gpucheck.Report) {
	table := func(name string, t report.Table, rows [][]any) {
		if len(rows) > 0 {
			b.WriteString(report.Label(name) + p.Faint(t.Head()))
		}
		for _, row := range rows {
			b.WriteString(report.Label("") + t.Row(row...))
		}
	}
	var all, apart []float64
	for _, c := range r.Copies {
		all = append(all, c.In, c.Out, c.Both)
	}
	var rows [][]any
	for _, c := range r.Copies {
		rows = append(rows, []any{c.Memory, report.Bytes(float64(c.Bytes)), figure(c.In, all), figure(c.Out, all), figure(c.Both, all)})
	}
	table("copies", report.NewTable("GB/s", -12, "bytes", 10, "in", 10, "out", 10, "both", 10), rows)
	if l := r.Latency; l != nil {
		b.Line("latency", "8 bytes %.1f µs, a product of 1×1 %.1f µs, as a tile %.1f µs", l.Copy, l.Gemm, l.Tile)
	}
	all, rows = nil, nil
	for _, t := range r.Tiles {
		all, apart = append(all, t.GFLOPS, t.Library), append(apart, t.Apart)
	}
	for _, t := range r.Tiles {
		rows = append(rows, []any{t.Op + "/" + t.Type, t.NB, figure(t.GFLOPS, all), figure(t.Library, all), dashed(t.Ratio, "%.3f"), figure(t.Apart, apart)})
	}
	table("tiles", report.NewTable("GFLOP/s", -12, "nb", 6, "tiles", 12, "library", 12, "ratio", 8, "apart", 8), rows)
	rows = nil
	for _, a := range r.Again {
		rows = append(rows, []any{a.Op + "/f64", a.N, a.NRHS, report.Brief(report.InSeconds(a.Factorize)), report.Brief(report.InSeconds(a.Solve)), report.Bytes(float64(a.Copied))})
	}
	table("again", report.NewTable("solutions", -12, "n", 6, "nrhs", 6, "factorize", 11, "solve", 11, "copied", 10), rows)
	all, rows = nil, nil
	for _, w := range r.Whole {
		all = append(all, w.CPU.GFLOPS, w.GPU.GFLOPS, w.Both.GFLOPS, w.Resident, w.Library)
	}
	for _, w := range r.Whole {
		rows = append(rows, []any{w.Op + "/" + w.Type, w.N, dashed(float64(max(w.GPU.NB, w.Both.NB)), "%.0f"), figure(w.CPU.GFLOPS, all),
			figure(w.GPU.GFLOPS, all), figure(w.Both.GFLOPS, all), figure(w.Resident, all), figure(w.Library, all)})
	}
	table("whole", report.NewTable("GFLOP/s", -12, "n", 6, "nb", 5, "CPU", 7, "GPU", 7, "both", 7, "resident", 9, "library", 8), rows)
	if rows != nil {
		b.Line("", "CPU, GPU and both: from and to host memory; resident: tiles on the device; library: cuBLAS and cuSOLVER on matrices there")
	}
}

// figure formats a rate like all of its table, in at most eight columns, with a dash if it was not measured.
func figure(x float64, all []float64) string {
	if x == 0 {
		return "–"
	}
	return report.Decimals(all...)(x)
}

// dashed formats a number, with a dash for 0.
func dashed(x float64, format string) string {
	if x == 0 {
		return "–"
	}
	return fmt.Sprintf(format, x)
}
