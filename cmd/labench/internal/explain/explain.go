package explain

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/cmd/labench/internal/record"
	"github.com/tessera-la/tessera/cmd/labench/internal/setup"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/origin"
	"github.com/tessera-la/tessera/internal/quiet"
	"github.com/tessera-la/tessera/internal/report"
)

// NewCommand returns the command labench explain.
func NewCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain OPERATION",
		Short: "Say why an operation is not faster with more workers",
		Long: `Run an operation with one worker and with all, on the same tiles, and say where
the time goes that keeps them from being as many times as fast: tasks that take
longer beside others, idle workers and why, work outside tasks. The losses add
up to the whole. Each is said with the numbers it rests on and with what can be
done about it, the largest first.`,
		Example: `  labench explain cholesky
  labench explain qr -m 20000 -n 500 --workers 8 --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.Usage(&cli.UnknownError{What: "operation", Word: args[0], Known: bench.Ops()})
			}
			return cli.Usage(fmt.Errorf("explain what? One of: %s", strings.Join(bench.Ops(), ", ")))
		},
		Args: cobra.ArbitraryArgs, // RunE reports wrong arguments better
	}
	for _, op := range bench.Operations() {
		var f setup.OpFlags
		cmd.AddCommand(f.Command(op, func(ctx context.Context) error { return run(ctx, a, &f) }))
	}
	return cmd
}

// run measures and explains.
func run(ctx context.Context, a *cli.App, f *setup.OpFlags) error {
	if asked, err := f.Help(a); asked {
		return err
	}
	s, profile, err := f.Open(a, nil)
	if err != nil {
		return err
	}
	s.Workers = cmp.Or(s.Workers, exec.DefaultWorkers())
	if s.Workers == 1 {
		return cli.Usage(fmt.Errorf("with one worker there is nothing to compare; --workers 2 makes two share this core"))
	}
	all, err := fastest(ctx, a, f, s)
	if err != nil {
		return err
	}
	if record.TasksOf(all.recording) == 0 {
		if err := all.result.Wrong(); err != nil {
			return err
		}
		return noTasks(a, f, all)
	}
	// Both sides use the same tiles, so that the same tasks are compared. The result is checked once.
	single := s
	single.Workers, single.NB, single.Verify = 1, all.result.NB, false
	one, err := fastest(ctx, a, f, single)
	if err != nil {
		return err
	}
	profile.Keep(a)
	x := newAccount(one, all)
	if f.JSON {
		err = a.Document(x.document())
	} else {
		_, err = a.Out.Write([]byte(x.text(s.WithDefaults(), report.NewPaint(a.Out))))
	}
	if err != nil {
		return err
	}
	return all.result.Wrong()
}

// fastest runs s and returns the fastest of its runs.
func fastest(ctx context.Context, a *cli.App, f *setup.OpFlags, s bench.Spec) (side, error) {
	best := side{workers: s.Workers}
	s.Trace = &trace.Recorder{Dependencies: true}
	s.Recorded = func(r *trace.Recording, took time.Duration) {
		best.note(r.CriticalPath())
		if took = max(took, 1); best.recording == nil || took < best.took { // a coarse clock may show no time at all
			best.recording, best.took = r, took
		}
	}
	bar := f.Progress(a, &s, fmt.Sprintf("%s, %s", s.Op, report.Workers(s.Workers)))
	var err error
	best.result, err = bench.Run(ctx, s)
	bar.End()
	return best, err
}

// noTasks explains a problem that was solved by one kernel, without tasks.
func noTasks(a *cli.App, f *setup.OpFlags, all side) error {
	text := fmt.Sprintf("The problem goes to one kernel on the calling goroutine, without tasks, and takes %s: more workers do not matter to it. "+
		"Compute several of them at once, one on each goroutine, or cut it into tiles with --nb.", report.Duration(all.took.Seconds()))
	if f.JSON {
		return a.Document(Document{Origin: all.result.Origin, Op: all.result.Op, Type: all.result.Type, M: all.result.M, N: all.result.N, K: all.result.K,
			Direct: true, Verdict: []string{text}})
	}
	return report.FprintWrapped(a.Out, "", text)
}

// Document is what labench explain --json prints. Times are in seconds.
type Document struct {
	origin.Origin
	Op      string        `json:"op"`
	Type    string        `json:"type"`
	M       int           `json:"m"`
	N       int           `json:"n"`
	K       int           `json:"k"`
	NB      int           `json:"nb"`
	Sched   string        `json:"sched"`
	Direct  bool          `json:"direct"`        // the problem was solved by one kernel; only the verdict follows
	One     *measuredSide `json:"one,omitempty"` // worker
	All     *measuredSide `json:"all,omitempty"`
	Speedup float64       `json:"speedup"`
	Path    *criticalPath `json:"critical_path,omitempty"`
	Ops     []opRow       `json:"ops,omitempty"`
	Lost    float64       `json:"lost"`             // part of the workers' time
	Losses  []lossRow     `json:"losses,omitempty"` // they sum up to Lost
	Verdict []string      `json:"verdict"`
}

type measuredSide struct {
	Workers       int         `json:"workers"`
	Seconds       float64     `json:"seconds"`
	Runs          []float64   `json:"runs"`    // seconds of each run; the fastest is explained
	Outside       float64     `json:"outside"` // before the first task and after the last
	GFLOPS        float64     `json:"gflops"`
	PeakGFLOPS    float64     `json:"peak_gflops"`
	PeakFraction  float64     `json:"peak_fraction"`
	PeakDisturbed bool        `json:"peak_disturbed"`
	Load          *quiet.Load `json:"load,omitempty"` // what else ran
	Disturbed     bool        `json:"disturbed"`
}

type criticalPath struct {
	Seconds float64 `json:"seconds"`
	Work    float64 `json:"work"` // all tasks
	Tasks   int     `json:"tasks"`
	Bound   float64 `json:"bound"` // upper bound of the speed-up
}

type opRow struct {
	Op       string  `json:"op"`
	TasksOne int     `json:"tasks_one"`
	TasksAll int     `json:"tasks_all"`
	EachOne  float64 `json:"each_one"`
	EachAll  float64 `json:"each_all"`
}

type lossRow struct {
	Kind    string  `json:"kind"`
	Share   float64 `json:"share"` // part of the workers' time; negative if gained
	Seconds float64 `json:"seconds"`
}

// document returns the account as the JSON document.
func (x *account) document() Document {
	r := x.all.result
	d := Document{Origin: r.Origin, Op: r.Op, Type: r.Type, M: r.M, N: r.N, K: r.K, NB: r.NB, Sched: r.Sched, Speedup: x.speedup(),
		Lost: x.share(x.lost()), Verdict: x.verdict(),
		Path: &criticalPath{x.path.Length.Seconds(), x.path.Work.Seconds(), len(x.path.Tasks), x.path.Bound()}}
	of := func(s side, outside time.Duration) *measuredSide {
		r := s.result
		return &measuredSide{s.workers, s.took.Seconds(), r.Seconds, outside.Seconds(), r.GFLOPSBest, r.PeakGFLOPS, r.PeakFraction, r.PeakDisturbed, r.Load, r.Disturbed}
	}
	d.One, d.All = of(x.one, x.outside[0]), of(x.all, x.outside[1])
	for _, o := range x.ops {
		d.Ops = append(d.Ops, opRow{o.op, o.calls[0], o.calls[1], o.each(0).Seconds(), o.each(1).Seconds()})
	}
	for _, l := range x.losses {
		d.Losses = append(d.Losses, lossRow{l.kind.String(), x.share(l.time), l.time.Seconds()})
	}
	return d
}
