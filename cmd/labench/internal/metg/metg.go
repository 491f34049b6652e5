package metg

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/tessera-la/tessera/cmd/labench/internal/taskbench"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/origin"
	"github.com/tessera-la/tessera/internal/quiet"
	"github.com/tessera-la/tessera/internal/report"
	"github.com/tessera-la/tessera/internal/topo"
)

// metgFlags are the flags of labench metg.
type metgFlags struct {
	pattern, sched                       string
	width, steps, radix, workers, repeat int
	points, json                         bool
}

// NewCommand returns the command labench metg.
func NewCommand(a *cli.App) *cobra.Command {
	var f metgFlags
	cmd := &cobra.Command{
		Use:   "metg",
		Short: "Measure how short tasks may be: METG(50 %), Task Bench patterns",
		Long: "Run graphs of tasks that compute for a while and check their inputs, with\n" +
			"shorter and shorter tasks, and print the minimum effective task granularity:\n" +
			"the time per task at which the workers spend half of it computing. Less is\n" +
			"better. After Slaughter et al., \"Task Bench\", SC20.",
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runMETG(cmd.Context(), a, &f) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.pattern, "pattern", "stencil_1d", "patterns: all, "+cli.Words(taskbench.Patterns()))
	fl.StringVar(&f.sched, "sched", dispatch.Priority.String(), "scheduling policies: all, "+cli.Words(dispatch.Kinds()))
	fl.IntVar(&f.width, "width", 0, "points, tasks of a step (default one per worker)")
	fl.IntVar(&f.steps, "steps", 1000, "steps")
	fl.IntVar(&f.radix, "radix", 5, "neighbours of nearest, spread and random_nearest")
	fl.IntVar(&f.workers, "workers", 0, "number of workers (default one per core)")
	fl.IntVar(&f.repeat, "repeat", 5, "runs of each size, of which the best counts; short ones are repeated more often")
	fl.BoolVar(&f.points, "points", false, "print each size of task, too")
	fl.BoolVar(&f.json, "json", false, "print one JSON document instead of a table")
	return cmd
}

// MetgDocument is what labench metg --json prints.
type MetgDocument struct {
	origin.Origin
	Results []metgRow `json:"results"`
}

// metgRow is a measurement. Times are in microseconds.
type metgRow struct {
	Pattern string      `json:"pattern"`
	Sched   string      `json:"sched"`
	Width   int         `json:"width"`
	Steps   int         `json:"steps"`
	Radix   int         `json:"radix"`
	Workers int         `json:"workers"`
	Tasks   int         `json:"tasks"`
	METG    float64     `json:"metg"` // 0 if the efficiency did not cross one half
	Points  []metgPoint `json:"points"`
	Load    *quiet.Load `json:"load,omitempty"` // load of other programs
}

type metgPoint struct {
	Iterations  int     `json:"iterations"`
	Kernel      float64 `json:"kernel"`
	Granularity float64 `json:"granularity"`
	Efficiency  float64 `json:"efficiency"`
}

// runMETG measures and prints the results.
func runMETG(ctx context.Context, a *cli.App, f *metgFlags) error {
	patterns, err := cli.ParseWords("pattern", f.pattern, taskbench.Patterns())
	if err != nil {
		return cli.Usage(err)
	}
	policies, err := cli.ParseWords("sched", f.sched, dispatch.Kinds())
	if err != nil {
		return cli.Usage(err)
	}
	for _, n := range []struct {
		name       string
		got, least int
	}{{"width", f.width, 0}, {"steps", f.steps, 1}, {"radix", f.radix, 1}, {"workers", f.workers, 0}, {"repeat", f.repeat, 1}} {
		if n.got < n.least {
			return cli.Usage(fmt.Errorf("--%s is %d, want at least %d", n.name, n.got, n.least))
		}
	}
	workers := cmp.Or(f.workers, exec.DefaultWorkers())
	a.WarnCrowded(workers)
	width := cmp.Or(f.width, workers)
	doc := MetgDocument{Origin: origin.Here()}
	p := report.NewPaint(a.Out)
	var disturbed report.Disturbance
	if !f.json {
		report.FprintWrapped(a.Out, report.Label("machine"), report.MachineLine(topo.Detect()))
		fmt.Fprintf(a.Out, "%s%d × %d steps, %s\n", report.Label("graph"), width, f.steps, report.Count(workers, "worker"))
		fmt.Fprintln(a.Out, p.Faint(metgHead(f.points)))
	}
	for _, pattern := range patterns {
		for _, policy := range policies {
			g := taskbench.Graph{Pattern: pattern, Width: width, Steps: f.steps, Radix: f.radix}
			watch := quiet.Start()
			r, err := measureMETG(ctx, a, g, policy, workers, f.repeat)
			if err != nil {
				return err
			}
			row := metgRow{Pattern: pattern.String(), Sched: policy.String(), Width: width, Steps: f.steps, Radix: f.radix,
				Workers: workers, Tasks: r.Tasks, METG: micros(r.METG)}
			if l, ok := watch.Stop(); ok {
				row.Load = &l
			}
			for _, pt := range r.Points {
				row.Points = append(row.Points, metgPoint{pt.Iterations, micros(pt.Kernel), micros(pt.Granularity), pt.Efficiency})
			}
			doc.Results = append(doc.Results, row)
			if !f.json {
				printMETG(a, p, row, f.points, disturbed.Mark(row.Load, workers, 0, false))
			}
		}
	}
	if f.json {
		return a.Document(doc)
	}
	_, err = io.WriteString(a.Out, disturbed.Note())
	return err
}

// measureMETG measures one pattern with one policy.
func measureMETG(ctx context.Context, a *cli.App, g taskbench.Graph, policy dispatch.Kind, workers, repeat int) (taskbench.Result, error) {
	rt, err := exec.NewLocal(exec.Options{Workers: workers, Policy: policy})
	if err != nil {
		return taskbench.Result{}, err
	}
	defer rt.Close()
	return taskbench.Measure(ctx, rt, g, repeat)
}

// metgHead is the head of the table.
func metgHead(points bool) string {
	head := fmt.Sprintf(" %-15s%-14s%14s", "pattern", "sched", "METG(50 %)")
	if points {
		head += fmt.Sprintf("%14s%12s", "alone", "efficiency")
	}
	return head
}

// printMETG prints a row of the table with a mark before it, and the underlying measurements if points is set.
func printMETG(a *cli.App, p report.Paint, r metgRow, points bool, mark string) {
	metg := "not reached"
	if r.METG > 0 {
		metg = fmt.Sprintf("%.2f µs", r.METG)
	}
	fmt.Fprintf(a.Out, "%s%-15s%-14s%s\n", mark, r.Pattern, r.Sched, p.Bold(fmt.Sprintf("%14s", metg)))
	if !points {
		return
	}
	above := false
	for _, pt := range r.Points {
		fmt.Fprintf(a.Out, "%30s%11.2f µs%11.2f µs%10.1f %%\n", "", pt.Granularity, pt.Kernel, 100*pt.Efficiency)
		above = above || pt.Efficiency > 1
	}
	if above {
		report.FprintWrapped(a.Out, " ", "More than 100 %: tasks were slower alone, when their time was taken, than in the graph. Other programs, or a changing clock, do that.")
	}
}

// micros returns d in microseconds.
func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
