package planner

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/tessera-la/tessera/cmd/labench/internal/sweep"
	"github.com/tessera-la/tessera/exec/sim"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/report"
	"github.com/tessera-la/tessera/la"
)

// spectral returns the operations of [PredictSpectral].
func spectral() []string { return []string{"eigen", "svd"} }

// spectralOnly lists the flags of labench plan that eigen and svd on one node have not: they have no tiles.
func spectralOnly() []string {
	return []string{"nb", "sched", "nodes", "grid", "lose", "best", "trace", "plot", "cluster", "agents", "idle", "gflops", "link"}
}

// spectralPlan prints the predicted times of eigen or svd.
func spectralPlan(ctx context.Context, a *cli.App, f *forecastFlags) error {
	var errs cli.Problems
	for _, flag := range spectralOnly() {
		if f.given(flag) {
			why := "it has no tiles, and uses one node"
			if f.op == "eigen" {
				why = "without --nodes or --cluster " + why
			}
			errs.Note(fmt.Errorf("--%s is nothing that %s has: %s", flag, f.op, why))
		}
	}
	if f.machine == "" {
		errs.Note(fmt.Errorf("--machine names no file; labench machine FILE writes one for this machine"))
	}
	errs.Target("csv", f.csv)
	base, err := f.problem()
	errs.Note(err)
	if errs != nil {
		return cli.Usage(cli.JoinLine(errs))
	}
	m, err := f.open(ctx, a)
	if err != nil {
		return err
	}
	all, err := f.wishes(m)
	if err != nil {
		return cli.Usage(err)
	}
	ways := []la.Reduction{base.Reduction}
	if base.Reduction == la.FasterReduction {
		ways = []la.Reduction{la.OneStage, la.TwoStages}
	}
	var done []Spectral
	for _, w := range all {
		o, err := w.options(m)
		if err != nil {
			return cli.Usage(err)
		}
		var tried []Spectral
		for _, way := range ways {
			p := base
			p.N, p.Reduction = w.n, way
			x, err := PredictSpectral(p, o.Machine)
			if err != nil {
				return err
			}
			tried = append(tried, x)
		}
		fastest := 0
		for i := range tried {
			if tried[i].Seconds < tried[fastest].Seconds {
				fastest = i
			}
		}
		tried[fastest].Faster = true
		text := spectralText(report.NewPaint(a.Out), m, tried, done == nil)
		for _, x := range tried {
			if err := sweep.Print(a, f.json, x, func() string { return text }); err != nil {
				return err
			}
			text = ""
		}
		done = append(done, tried...)
	}
	var rows [][]any
	for _, x := range done {
		for _, s := range x.Stages {
			rows = append(rows, []any{x.Op, x.Type, x.N, x.Values, x.Reduction, x.Workers, x.Seconds, x.GFLOPS, x.Faster, s.Name, s.Seconds})
		}
	}
	return cli.WriteCSV(f.csv, []string{"op", "type", "n", "values", "reduction", "workers", "seconds", "gflops", "faster", "stage", "seconds_stage"}, rows)
}

// spectralText is the lines for one problem: its ways, the fastest of them marked, and for the first problem what they
// are of.
func spectralText(paint report.Paint, m *sim.Machine, tried []Spectral, first bool) string {
	var b strings.Builder
	x := &tried[0]
	t := report.NewTable("n", 6, "workers", 7, "reduction", -9, "time", 8, "", 1, "reduce", 8, "chase", 8, "problem", 8, "back", 8)
	if first {
		what := "values and vectors"
		if x.Values {
			what = "values only"
		}
		io.WriteString(&b, report.Wrapped(report.Label("machine"), cmp.Or(m.Name, "without a name")))
		io.WriteString(&b, report.Wrapped(report.Label("problem"), fmt.Sprintf("%s %s, %s", x.Op, x.Type, what)))
		io.WriteString(&b, paint.Faint(t.Head()))
	}
	for _, x := range tried {
		brief := func(seconds float64) string { return strings.TrimSpace(report.Brief(report.InSeconds(seconds))) }
		seconds, cells := map[string]float64{}, map[string]string{}
		for _, s := range x.Stages {
			column := spectralColumn(s.Name)
			seconds[column] += s.Seconds
			cells[column] = brief(seconds[column])
		}
		mark := ""
		if x.Faster && len(tried) > 1 {
			mark = "*"
		}
		b.WriteString(t.Row(x.N, x.Workers, x.Reduction, brief(x.Seconds), mark, cells["reduce"], cells["chase"], cells["problem"], cells["back"]))
	}
	return b.String()
}

// spectralColumn returns the column of the table in which the time of a stage is.
func spectralColumn(stage string) string {
	switch stage {
	case "reduction", "reduction to band":
		return "reduce"
	case "bulge chasing":
		return "chase"
	case "values", "divide and conquer":
		return "problem"
	}
	return "back"
}
