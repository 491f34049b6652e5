package explain

import (
	"fmt"
	"strings"

	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/internal/report"
)

// Stages writes how long the stages of an operation took, and at what rate, in the last run of each result, and why its
// matrix was reduced in one stage or in two. It writes nothing for an operation that has no stages.
func Stages(b *strings.Builder, p report.Paint, results ...bench.Result) {
	if len(results[0].Stages) == 0 {
		return
	}
	columns := []any{"stage", -20}
	var all []float64
	for _, r := range results {
		columns = append(columns, report.Workers(r.Workers), 12, "GFLOP/s", 9)
		for _, s := range r.Stages {
			all = append(all, s.Seconds)
		}
	}
	times, table := report.Durations(all...), report.NewTable(columns...)
	b.WriteString(p.Faint(report.Label("stages") + table.Head()))
	for i, s := range results[0].Stages {
		row := []any{s.Name}
		for _, r := range results {
			rate := "-"
			if s := r.Stages[i]; s.GFLOPS > 0 {
				rate = fmt.Sprintf("%.1f", s.GFLOPS)
			}
			row = append(row, times(r.Stages[i].Seconds), rate)
		}
		b.WriteString(report.Label("") + table.Row(row...))
	}
	for _, r := range results {
		if c := r.Choice; c != nil {
			brief := func(seconds float64) string { return strings.TrimSpace(report.Brief(report.InSeconds(seconds))) }
			how := "fixed"
			if c.Measured {
				how = "measured"
			}
			b.WriteString(report.Wrapped(report.Label("choice"), fmt.Sprintf("With %s one stage was foreseen to take %s and two %s, at %s rates: %.3g GFLOP/s in products and %.3g GB/s from memory.",
				report.Workers(r.Workers), brief(c.OneStage), brief(c.TwoStages), how, c.GFLOPS, c.Bandwidth/1e9)))
		}
	}
}
