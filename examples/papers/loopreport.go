package main

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tessera-la/tessera/examples/papers/internal/loopapps"
	"github.com/tessera-la/tessera/exec/loop"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/origin"
	"github.com/tessera-la/tessera/internal/quiet"
	"github.com/tessera-la/tessera/internal/report"
	"github.com/tessera-la/tessera/internal/topo"
)

// loopDocument is what papers loop --json prints. Times are in seconds.
type loopDocument struct {
	origin.Origin
	App     string      `json:"app"`
	Data    string      `json:"data"`
	Bytes   int64       `json:"bytes"` // of the data
	Workers int         `json:"workers"`
	Nodes   int         `json:"nodes,omitempty"` // with --cluster
	Repeat  int         `json:"repeat"`
	Plans   []loopRow   `json:"plans"`
	Auto    string      `json:"auto,omitempty"` // what Auto has learned, with --explain
	Load    *quiet.Load `json:"load,omitempty"` // load of other programs
}

// loopRow is the result of a plan. Chunks, imbalance, steals and the shortest loop are those of the fastest
// run.
type loopRow struct {
	Form      string        `json:"form,omitempty"`
	Scheme    string        `json:"scheme,omitempty"` // of loops
	Queues    string        `json:"queues"`
	Victims   string        `json:"victims,omitempty"`
	Grain     int           `json:"grain,omitempty"`
	Seconds   []float64     `json:"seconds"` // of each run, ascending
	Best      float64       `json:"best"`
	Median    float64       `json:"median"`
	Loops     int           `json:"loops"`
	Shortest  float64       `json:"shortest"`
	Imbalance float64       `json:"imbalance"`
	Chunks    int           `json:"chunks"`
	Moved     int64         `json:"moved,omitempty"` // bytes from node to node in the last run, with --cluster
	Steals    int           `json:"steals"`
	Stolen    []map[int]int `json:"stolen"`          // by worker: chunks from each queue of others
	Rival     *loopRival    `json:"rival,omitempty"` // of auto
}

// loopRival compares auto with the best other plan: the times of auto relative to it, in pairs of runs.
type loopRival struct {
	Plan   string    `json:"plan"`
	Ratios []float64 `json:"ratios"` // ascending
}

func newLoopRow(kind loopapps.Kind, r *loopapps.Row) loopRow {
	row := loopRow{
		Scheme: r.Plan.Scheme.String(), Grain: r.Plan.Grain, Best: r.Best().Seconds(), Median: r.Median().Seconds(),
		Loops: len(r.Loops), Imbalance: r.Imbalance(), Stolen: r.Stolen(),
	}
	for _, t := range r.Times {
		row.Seconds = append(row.Seconds, t.Seconds())
	}
	row.Chunks, row.Steals = r.Chunks()
	for i := range r.Loops {
		if t := r.Loops[i].Took.Seconds(); i == 0 || t < row.Shortest {
			row.Shortest = t
		}
	}
	if kind.Formed() {
		row.Form = r.Form.String()
		switch {
		case !r.Form.Loops():
			row.Scheme = ""
		case r.Plan.Scheme != loop.Auto:
			row.Victims = r.Plan.Victim.String()
		}
		return row
	}
	if r.Plan.Scheme != loop.Auto {
		row.Queues = queueKind{r.Plan.Layout, r.Plan.Shares}.String()
		if r.Plan.Layout != loop.Central {
			row.Victims = r.Plan.Victim.String()
		}
	}
	return row
}

// printLoopHead prints what comes before the table.
func printLoopHead(a *cli.App, p report.Paint, d *loopDocument) {
	report.FprintWrapped(a.Out, report.Label("machine"), report.MachineLine(topo.Detect()))
	report.FprintWrapped(a.Out, report.Label("data"), fmt.Sprintf("%s, %s", d.Data, report.Bytes(float64(d.Bytes))))
	report.FprintWrapped(a.Out, report.Label("run"), fmt.Sprintf("%s, %s of each plan, in turns", report.Count(d.Workers, "worker"), report.Count(d.Repeat, "run")))
	fmt.Fprintln(a.Out, p.Faint(fmt.Sprintf("%-7s%-15s%-8s%11s%12s%11s%9s%7s", "scheme", "queues", "victims", "best", "median", "imbalance", "chunks", "steals")))
}

// printLoopRival prints how auto compares: the median, and the bounds of the middle half.
func printLoopRival(a *cli.App, auto *loopRow) {
	name, r, n := "auto", auto.Rival, len(auto.Rival.Ratios)
	if auto.Form != "" {
		name += " (" + auto.Form + ")"
	}
	report.FprintWrapped(a.Out, report.Label("pairs"), fmt.Sprintf("%s takes %.3f of the time of %s, the best other plan by its median: %.3f to %.3f in the middle half of %s of runs",
		name, r.Ratios[n/2], r.Plan, r.Ratios[n/4], r.Ratios[n-1-n/4], report.Count(n, "pair")))
}

// printLoopRow prints a row of the table.
func printLoopRow(a *cli.App, p report.Paint, r *loopRow, times func(float64) string) {
	imbalance := fmt.Sprintf("%.1f %%", 100*r.Imbalance)
	if r.Scheme == "" {
		imbalance = "" // no record of which worker has which task
	}
	times = inColumn(times, r.Median)
	fmt.Fprintf(a.Out, "%-7s%-15s%-8s%s%12s%11s%9d%7d\n", r.Scheme, cmp.Or(r.Form, r.Queues), r.Victims, p.Bold(fmt.Sprintf("%11s", times(r.Best))), times(r.Median), imbalance, r.Chunks, r.Steals)
}

// explainAuto returns what Auto has learned, if it was among the plans.
func explainAuto(rows []loopapps.Row) string {
	var b strings.Builder
	for i := range rows {
		if rows[i].Plan.Scheme != loop.Auto {
			continue
		}
		for k := range rows[i].Sites {
			b.WriteString(rows[i].Sites[k].Explain().String())
		}
	}
	return b.String()
}

// inColumn returns times, or in another unit if a row took so much longer than the first one that its median does not fit a
// column.
func inColumn(times func(float64) string, median float64) func(float64) string {
	if utf8.RuneCountInString(times(median)) > 11 {
		return report.Durations(median)
	}
	return times
}
