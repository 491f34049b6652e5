package inspect

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/origin"
	"github.com/tessera-la/tessera/internal/peak"
	"github.com/tessera-la/tessera/internal/report"
	"github.com/tessera-la/tessera/internal/topo"
)

// NewPeakCommand returns the command labench peak.
func NewPeakCommand(a *cli.App) *cobra.Command {
	var workers int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "peak",
		Short: "Measure the FMA peak and the memory bandwidth, one core and all",
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if workers < 0 {
				return cli.Usage(fmt.Errorf("--workers is %d, want at least 0", workers))
			}
			return runPeak(cmd.Context(), a, peak.Options{Cores: workers}, asJSON)
		},
	}
	cmd.Flags().IntVar(&workers, "workers", 0, "cores that \"all\" means (default every one)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document instead of a table")
	return cmd
}

// PeakDocument is what labench peak --json prints.
type PeakDocument struct {
	origin.Origin
	Pinned       bool      `json:"pinned"` // all threads were bound to their cores
	Measurements []PeakRow `json:"measurements"`
}

// PeakRow is one measurement.
type PeakRow struct {
	What  string  `json:"what"`          // "fma" or "triad"
	Type  string  `json:"type"`          // "f64" or "f32"
	ISA   string  `json:"isa,omitempty"` // of the FMA loop
	Unit  string  `json:"unit"`          // "GFLOP/s" or "GB/s"
	One   float64 `json:"one"`           // on one core
	All   float64 `json:"all"`           // on Cores
	Cores int     `json:"cores"`
	// Pinned says that each thread was bound to its core. Disturbed says that other programs disturbed every
	// measurement, so that the value may be too low.
	Pinned    bool `json:"pinned"`
	Disturbed bool `json:"disturbed"`
}

// runPeak measures, and prints the results as lines or as a document.
func runPeak(ctx context.Context, a *cli.App, o peak.Options, asJSON bool) error {
	m := topo.Detect()
	o.Machine = m
	p := report.NewPaint(a.Out)
	if !asJSON {
		report.FprintWrapped(a.Out, report.Label("machine"), report.MachineLine(m))
	}
	first := true
	if o.Cores > len(m.Allowed) {
		a.Warn(fmt.Sprintf("this process may use %s: the peak is that of all of them, and not of %d", report.Count(len(m.Allowed), "CPU"), o.Cores))
	}
	doc := PeakDocument{Origin: origin.Here(), Pinned: true}
	disturbed := false
	table := report.NewTable("type", -5, "isa", -8, "one core", 12, "", 12, "speedup", 11, "", -12)
	row := func(name, what, typ, unit string, r bench.PeakRate) error {
		mark := ""
		if r.Disturbed {
			disturbed, mark = true, " ~"
		}
		isa := ""
		if what == "fma" {
			isa = r.ISA.String()
		}
		if asJSON {
			doc.Measurements = append(doc.Measurements, PeakRow{what, typ, isa, unit, r.One, r.All, r.Cores, r.Pinned, r.Disturbed})
			return nil
		}
		if first {
			first = false
			table[3].Name = report.Count(r.Cores, "core")
			fmt.Fprint(a.Out, p.Faint(report.Label("")+table.Head()))
		}
		_, err := io.WriteString(a.Out, report.Label(name)+table.Row(typ, isa, fmt.Sprintf("%.1f", r.One), p.Bold(fmt.Sprintf("%.1f", r.All)),
			fmt.Sprintf("%.2f", r.All/r.One), "  "+unit+mark))
		return err
	}
	for _, isa := range peak.Available() {
		o.ISA = isa
		for _, t := range []struct {
			name    string
			measure func(context.Context, peak.Options) (peak.Rate, error)
		}{{"f64", peak.FMA[float64]}, {"f32", peak.FMA[float32]}} {
			r, err := bench.SteadyPeak(ctx, t.measure, o)
			if err != nil {
				return err
			}
			doc.Pinned = doc.Pinned && r.Pinned
			if err := row("FMA", "fma", t.name, "GFLOP/s", r); err != nil {
				return err
			}
		}
	}
	r, err := bench.SteadyPeak(ctx, peak.Triad, o)
	if err != nil {
		return err
	}
	if err := row("triad", "triad", "f64", "GB/s", r); err != nil {
		return err
	}
	if !doc.Pinned {
		a.Warn("threads could not be bound to cores: the numbers may be too low")
	}
	if asJSON {
		return a.Document(doc)
	}
	if disturbed {
		return report.FprintWrapped(a.Out, "~ ", "disturbed: other programs, or the hypervisor, had a part of the cores, three times over. These may be too low; labench doctor says more.")
	}
	return nil
}
