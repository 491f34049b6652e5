package metg

import (
	"cmp"
	"context"
	"fmt"
	"github.com/tessera-la/tessera/cmd/labench/internal/sweep"
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
	table := report.NewTable("pattern", -14, "sched", -13, "METG(50 %)", 14)
	var disturbed report.Disturbance
	if !f.json {
		report.FprintWrapped(a.Out, report.Label("machine"), report.MachineLine(topo.Detect()))
		fmt.Fprintf(a.Out, "%s%d × %d steps, %s\n", report.Label("graph"), width, f.steps, report.Count(workers, "worker"))
		head := table
		if f.points {
			head = append(head, report.Column{Name: "alone", Width: 13}, report.Column{Name: "efficiency", Width: 11})
		}
		fmt.Fprint(a.Out, p.Faint(" "+head.Head()))
	}
	type point struct {
		pattern taskbench.Pattern
		policy  dispatch.Kind
	}
	points, err := sweep.Grid("measured", func(i []int) point { return point{patterns[i[0]], policies[i[1]]} }, len(patterns), len(policies))
	if err != nil {
		return cli.Usage(err)
	}
	err = sweep.Each(a, points, func(at point, say func(string, ...any)) (metgRow, error) {
		say("%v, %v …", at.pattern, at.policy)
		g := taskbench.Graph{Pattern: at.pattern, Width: width, Steps: f.steps, Radix: f.radix}
		watch := quiet.Start()
		r, err := measureMETG(ctx, g, at.policy, workers, f.repeat)
		row := metgRow{Pattern: at.pattern.String(), Sched: at.policy.String(), Width: width, Steps: f.steps, Radix: f.radix,
			Workers: workers, Tasks: r.Tasks, METG: micros(r.METG)}
		if l, ok := watch.Stop(); ok {
			row.Load = &l
		}
		for _, pt := range r.Points {
			row.Points = append(row.Points, metgPoint{pt.Iterations, micros(pt.Kernel), micros(pt.Granularity), pt.Efficiency})
		}
		return row, err
	}, func(row metgRow) error {
		doc.Results = append(doc.Results, row)
		if f.json {
			return nil
		}
		metg := "not reached"
		if row.METG > 0 {
			metg = fmt.Sprintf("%.2f µs", row.METG)
		}
		_, err := io.WriteString(a.Out, disturbed.Mark(row.Load, workers, 0, false)+table.Row(row.Pattern, row.Sched, p.Bold(metg))+row.points(f.points))
		return err
	})
	if err != nil {
		return err
	}
	if f.json {
		return a.Document(doc)
	}
	_, err = io.WriteString(a.Out, disturbed.Note())
	return err
}

// measureMETG measures one pattern with one policy.
func measureMETG(ctx context.Context, g taskbench.Graph, policy dispatch.Kind, workers, repeat int) (taskbench.Result, error) {
	rt, err := exec.NewLocal(exec.Options{Workers: workers, Policy: policy})
	if err != nil {
		return taskbench.Result{}, err
	}
	defer rt.Close()
	return taskbench.Measure(ctx, rt, g, repeat)
}

// points returns the measurements behind a row of the table, if shown is set.
func (r *metgRow) points(shown bool) (text string) {
	if !shown {
		return ""
	}
	above := false
	for _, pt := range r.Points {
		text += fmt.Sprintf("%30s%11.2f µs%11.2f µs%10.1f %%\n", "", pt.Granularity, pt.Kernel, 100*pt.Efficiency)
		above = above || pt.Efficiency > 1
	}
	if above {
		text += report.Wrapped(" ", "More than 100 %: tasks were slower alone, when their time was taken, than in the graph. Other programs, or a changing clock, do that.")
	}
	return text
}

// micros returns d in microseconds.
func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
