package planner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tessera-la/tessera/cmd/labench/internal/sweep"

	"github.com/spf13/cobra"
	"github.com/tessera-la/tessera/cmd/labench/internal/calibrate"
	"github.com/tessera-la/tessera/cmd/labench/internal/record"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/sim"
	"github.com/tessera-la/tessera/exec/sim/runfile"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/report"
)

// replayFlags are the flags of labench replay.
type replayFlags struct {
	file            string
	sched           []string
	workers, speed  string
	nodes, link     string
	latency         time.Duration
	record          record.Flags // how to record the replay
	csv             string
	json            bool
	schedGiven, all bool // --sched is there; no list is
}

// NewReplayCommand returns the command labench replay.
func NewReplayCommand(a *cli.App) *cobra.Command {
	f := &replayFlags{}
	cmd := &cobra.Command{
		Use:   "replay FILE",
		Short: "Say what a recorded run would have taken otherwise",
		Long: `Say what a recorded run would have taken under other policies, or with more
workers, or faster ones, or on several nodes.

FILE is what --record of an operation has written: the graph of the tasks, and
how long each of them took. They are executed once more in virtual time, by the
same scheduler. The first line says how far that is to be trusted: what comes
out for the run as it was recorded, beside what was measured. Tasks take as
long as they did: that more workers share memory and caches is not foreseen.

On several nodes the matrices are in the memory of the first one, which drives
the others, and results are brought there. Links between nodes are of one speed.

Every combination of what is listed is a line of a table.`,
		Example: `  labench cholesky -n 4096 --record run.json
  labench replay run.json
  labench replay run.json --sched fifo --sched steal --workers 1,2,4,8
  labench replay run.json --workers 1:64:x2 --speed 1,2
  labench replay run.json --nodes 1,2,4 --link 10,100 --csv nodes.csv`,
		Args: cli.OneArg("want one file, which --record of an operation has written"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.file = args[0]
			given := cmd.Flags().Changed
			f.schedGiven = given("sched")
			f.all = !slices.ContainsFunc([]string{"sched", "workers", "speed", "nodes", "link"}, given)
			return replay(cmd.Context(), a, f)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.Var(cli.NewWordList(&f.sched), "sched", "scheduling policies: all, "+cli.Words(dispatch.Kinds())+"\n(default the recorded one; all if nothing is listed)")
	fl.StringVar(&f.workers, "workers", "", "numbers of workers, of each node (default the recorded one)")
	fl.StringVar(&f.speed, "speed", "1", "how many times as fast tasks are, as in 1,1.5,2")
	fl.StringVar(&f.nodes, "nodes", "1", "numbers of nodes, the driver with them")
	fl.StringVar(&f.link, "link", "10", "Gbit/s into and out of each node, as in 10,100")
	fl.DurationVar(&f.latency, "latency", 20*time.Microsecond, "of a message between nodes, one way")
	fl.BoolVar(&f.json, "json", false, "print one JSON object per combination, that of the record first")
	fl.StringVar(&f.csv, "csv", "", "write a CSV file, too")
	fl.StringVar(&f.record.Trace, "trace", "", "write the tasks of the one combination to a file: "+record.Endings("trace", ", "))
	cli.Complete(cmd, "sched", append(cli.NamesOf(dispatch.Kinds()...), "all"))
	return cmd
}

// Replayed is a predicted run: an object of labench replay --json.
type Replayed struct {
	Title    string  `json:"title"`
	Sched    string  `json:"sched"`
	Workers  int     `json:"workers"` // of each node
	Speed    float64 `json:"speed"`
	Nodes    int     `json:"nodes"`
	Link     float64 `json:"link_gbits,omitempty"` // like the field below; of several nodes only
	Moved    int64   `json:"bytes_moved,omitempty"`
	Tasks    int     `json:"tasks"`
	Seconds  float64 `json:"seconds"`
	Measured float64 `json:"seconds_measured"` // of the recorded run, from the first task to the last
	Ratio    float64 `json:"ratio"`            // Seconds to Measured
	Idle     float64 `json:"idle"`             // idle part of the workers' time
	Path     float64 `json:"seconds_path"`     // of the critical path
	Steps    int     `json:"path_tasks"`
}

// otherwise is one combination of the variables of labench replay.
type otherwise struct {
	sched   dispatch.Kind
	workers int
	speed   float64
	nodes   int
	link    float64 // Gbit/s
}

// machine returns the machine on which to replay p.
func (o *otherwise) machine(p *sim.Program, latency time.Duration) *sim.Machine {
	m := p.Machine(o.workers)
	m.Nodes[0].Count = o.nodes
	if o.nodes > 1 {
		m.Network = sim.Network{Latency: latency.Seconds(), Bandwidth: o.link * 1e9 / 8}
		m.Costs.Driver, m.Costs.Give, m.Costs.End = calibrate.DriverPart, calibrate.DriverPart, calibrate.DriverPart
	}
	return m
}

// lists are the lists on the command line. Nil means as recorded.
type lists struct {
	sched   []dispatch.Kind
	workers []int
	speed   []float64
	nodes   []int
	link    []float64
}

// all returns all combinations. One node has no links, so only the first link counts for it.
func (l *lists) all() ([]otherwise, error) {
	all, err := sweep.Grid("replayed", func(i []int) otherwise {
		return otherwise{l.sched[i[0]], l.workers[i[3]], l.speed[i[4]], l.nodes[i[1]], l.link[i[2]]}
	}, len(l.sched), len(l.nodes), len(l.link), len(l.workers), len(l.speed))
	return slices.DeleteFunc(all, func(o otherwise) bool { return o.nodes == 1 && o.link != l.link[0] }), err
}

// parse parses the lists on the command line.
func (f *replayFlags) parse() (l lists, err error) {
	var errs cli.Problems
	known := append([]string{"all"}, cli.NamesOf(dispatch.Kinds()...)...)
	if f.schedGiven && len(f.sched) == 0 {
		errs.Note(errors.New("--sched is empty: give it a value, or leave it out"))
	}
	for _, s := range f.sched {
		kind, err := dispatch.Parse(s)
		switch {
		case s == "all":
			l.sched = dispatch.Kinds()
		case err != nil:
			errs.Note(&cli.ListError{Flag: "sched", Element: s, Allowed: strings.Join(known, ", ")})
		case !slices.Contains(l.sched, kind):
			l.sched = append(l.sched, kind)
		}
	}
	if f.all {
		l.sched = dispatch.Kinds()
	}
	if f.workers != "" {
		l.workers, err = cli.ParseInts("workers", f.workers, nil)
		errs.Note(err)
		if len(l.workers) > 0 && slices.Max(l.workers) > runfile.MostWorkers {
			errs.Note(&cli.ListError{Flag: "workers", Element: strconv.Itoa(slices.Max(l.workers)), Allowed: fmt.Sprintf("at most %d", runfile.MostWorkers)})
		}
	}
	numbers := func(flag, text string) (all []float64) {
		for word := range strings.SplitSeq(text, ",") {
			x, err := strconv.ParseFloat(strings.TrimSpace(word), 64)
			switch {
			case err != nil || !(x >= 0.001 && x <= 1000):
				errs.Note(&cli.ListError{Flag: flag, Element: word, Allowed: "numbers from 0.001 to 1000, separated by commas"})
			case !slices.Contains(all, x):
				all = append(all, x)
			}
		}
		return all
	}
	l.speed, l.link = numbers("speed", f.speed), numbers("link", f.link)
	l.nodes, err = cli.ParseInts("nodes", f.nodes, nil)
	errs.Note(err)
	if len(l.nodes) > 0 && slices.Max(l.nodes) > mostReplayed {
		errs.Note(&cli.ListError{Flag: "nodes", Element: strconv.Itoa(slices.Max(l.nodes)), Allowed: fmt.Sprintf("at most %d", mostReplayed)})
	}
	if f.latency < 0 {
		errs.Note(fmt.Errorf("--latency is %v, want at least 0", f.latency))
	}
	errs.Target("csv", f.csv)
	errs = append(errs, f.record.Check(f.json)...)
	return l, cli.JoinLine(errs)
}

// mostReplayed is the largest number of nodes.
const mostReplayed = 1024

// replay prints predicted times of a recorded run.
func replay(ctx context.Context, a *cli.App, f *replayFlags) error {
	l, err := f.parse()
	if err != nil {
		return cli.Usage(err)
	}
	points, err := sweep.Count("replayed", max(len(l.sched), 1), max(len(l.workers), 1), len(l.speed), len(l.nodes), len(l.link))
	if err == nil && points > 1 && f.record.Trace != "" {
		err = errors.New("--trace is for one combination")
	}
	if err != nil {
		return cli.Usage(err)
	}
	r, err := runfile.Read(f.file)
	if err != nil {
		return err
	}
	kind, err := dispatch.Parse(r.Sched)
	if err != nil {
		return err
	}
	if l.sched == nil {
		l.sched = []dispatch.Kind{kind}
	}
	if l.workers == nil {
		l.workers = []int{r.Workers}
	}
	all, err := l.all()
	if err != nil {
		return err
	}
	p := &player{Run: r, latency: f.latency, measured: r.Program.Measured()}
	if p.path, p.steps, err = r.Program.CriticalPath(ctx); err != nil {
		return err
	}
	asIs, _, err := p.play(ctx, otherwise{kind, r.Workers, 1, 1, 0}, false)
	if err != nil {
		return err
	}
	values := int64(0)
	for i := range r.Program.Data {
		values += r.Program.Data[i].Bytes
	}
	several := slices.ContainsFunc(all, func(o otherwise) bool { return o.nodes > 1 })
	table, times, moved := replayTable(several), report.Durations(10*asIs.Seconds), report.BytesLike(max(values, 1<<20))
	err = sweep.Print(a, f.json, asIs, func() string {
		paint := report.NewPaint(a.Out)
		return replayHead(paint, r, &p.measured, &asIs) + paint.Faint(table.Head())
	})
	if err != nil {
		return err
	}
	var rows [][]any
	var recording *trace.Recording
	err = sweep.Each(a, all, func(o otherwise, say func(string, ...any)) (Replayed, error) {
		say("")
		x, rec, err := p.play(ctx, o, f.record.Trace != "")
		recording = rec
		return x, err
	}, func(x Replayed) error {
		rows = append(rows, []any{x.Sched, x.Nodes, x.Link, x.Workers, x.Speed, x.Tasks, x.Seconds, x.Measured, x.Ratio, x.Idle, x.Path, x.Moved})
		if err := sweep.Print(a, f.json, x, func() string { return table.Row(x.cells(several, times, moved)...) }); err != nil {
			return err
		}
		return f.record.Write(recording)
	})
	if err != nil {
		return err
	}
	return cli.WriteCSV(f.csv, []string{"sched", "nodes", "link_gbits", "workers", "speed", "tasks", "seconds", "seconds_measured", "ratio", "idle", "seconds_path", "bytes_moved"}, rows)
}

// player replays a run.
type player struct {
	*runfile.Run
	latency  time.Duration
	measured sim.Measured
	path     float64 // critical path in seconds, and its tasks
	steps    int
}

// play predicts a run for the combination o, and records it if asked to.
func (p *player) play(ctx context.Context, o otherwise, record bool) (x Replayed, rec *trace.Recording, err error) {
	opt := sim.Options{Machine: o.machine(p.Program, p.latency), Policy: o.sched, Record: record}
	if o.nodes > 1 {
		opt.Policy, opt.Nodes = dispatch.Priority, cluster.Options{Policy: o.sched, ByPriority: o.sched == dispatch.Priority}
	}
	r, rec, err := p.Program.Replay(ctx, opt, o.speed)
	if err != nil {
		return x, nil, err
	}
	x = Replayed{Title: p.Title, Sched: o.sched.String(), Workers: o.workers, Speed: o.speed, Nodes: o.nodes, Moved: r.Moved,
		Tasks: r.Tasks, Seconds: r.Seconds, Measured: p.measured.Seconds, Path: p.path / o.speed, Steps: p.steps}
	if o.nodes > 1 {
		x.Link = o.link
	}
	if x.Measured > 0 {
		x.Ratio = x.Seconds / x.Measured
	}
	if x.Seconds > 0 {
		x.Idle = max(1-r.Sum().Busy/(x.Seconds*float64(o.workers*o.nodes)), 0)
	}
	return x, rec, nil
}

// replayHead describes the recorded run and how accurate the replay of it is, and returns the heading of the
// table.
func replayHead(p report.Paint, r *runfile.Run, m *sim.Measured, asIs *Replayed) string {
	var b report.Labelled
	off := "as much"
	if d := 100 * (asIs.Ratio - 1); d <= -0.05 {
		off = fmt.Sprintf("%.1f %% less", -d)
	} else if d >= 0.05 {
		off = fmt.Sprintf("%.1f %% more", d)
	}
	b.Line("as it was", "predicted %s, measured %s: %s", report.Brief(report.InSeconds(asIs.Seconds)), report.Brief(report.InSeconds(asIs.Measured)), p.Bold(off))
	b.Line("recorded", "%s, %s", r.Title, report.Count(m.Tasks, "task"))
	b.Line("", "%s, %s, on %s", report.Count(r.Workers, "worker"), r.Sched, r.Machine)
	b.Line("", "%s in all; tasks from the first submission to the last end took %s, and workers were idle for %.0f %% of that",
		report.Brief(report.InSeconds(r.Seconds)), report.Brief(report.InSeconds(m.Seconds)), 100*max(1-m.Busy/max(m.Seconds*float64(r.Workers), 1e-300), 0))
	b.Line("path", "the longest chain has %s, one after the other: no number of workers takes less", report.Count(asIs.Steps, "task"))
	b.WriteByte('\n')
	return b.String()
}

// replayTable returns the table of labench replay. It shows nodes and links if there are several numbers of nodes,
// and else the critical path.
func replayTable(several bool) report.Table {
	t := report.NewTable("sched", -9, "workers", 8, "speed", 6, "time", 12, "ratio", 7, "idle", 6, "path", 12)
	if several {
		t = append(t[:6], report.NewTable("nodes", 6, "Gbit/s", 7, "moved", 11)...)
	}
	return t
}

// cells returns a row of the table. times and moved format the columns of all rows.
func (x *Replayed) cells(several bool, times func(float64) string, moved func(int64) string) []any {
	all := []any{x.Sched, x.Workers, x.Speed, times(x.Seconds), fmt.Sprintf("%.3f", x.Ratio), fmt.Sprintf("%.0f%%", 100*x.Idle)}
	switch {
	case !several:
		return append(all, times(x.Path))
	case x.Nodes == 1:
		return append(all, x.Nodes, "-", "-")
	}
	return append(all, x.Nodes, x.Link, moved(x.Moved))
}
