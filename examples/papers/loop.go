package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/tessera-la/tessera/examples/papers/internal/loopapps"
	"github.com/tessera-la/tessera/examples/papers/internal/svm"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/loop"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/origin"
	"github.com/tessera-la/tessera/internal/plotting"
	"github.com/tessera-la/tessera/internal/quiet"
	"github.com/tessera-la/tessera/internal/report"
	"github.com/tessera-la/tessera/internal/topo"
)

// loopFlags are the flags of papers loop.
type loopFlags struct {
	size                     loopapps.Size
	schemes, queues, victims string
	forms, kernel            string
	grain, workers, repeat   int
	plot, cluster            string
	explain, json            bool
}

// newLoopCommand returns the command papers loop.
func newLoopCommand(a *cli.App) *cobra.Command {
	var f loopFlags
	apps := loopapps.Kinds()
	cmd := &cobra.Command{
		Use:   "loop APP",
		Short: "Compare ways to hand out the items of parallel loops",
		Long: "Run an application of parallel loops with each of several plans, which say how\n" +
			"items are cut into chunks and who gets which, and check its results:\n\n" +
			"  components  connected components of an R-MAT graph: rows of unlike lengths\n" +
			"  linreg      linear regression on dense random data: rows all alike\n" +
			"  kmeans      k-means on points in blocks\n" +
			"  histogram   a histogram of points in blocks\n" +
			"  svm         a cascade of support vector machines, trained on points in blocks\n" +
			"  neighbours  nearest neighbours by trees of points in blocks\n\n" +
			"The last four compare forms of the work as well: a task for each block\n" +
			"(baseline), a loop over partitions of the blocks (split), and both after the\n" +
			"data were copied into larger blocks (rechunk, materialised). Their queues are\n" +
			"the partitions. With --cluster the points are on several nodes, and each chunk\n" +
			"is a task there; auto makes a partition one task.\n\n" +
			"Plans are run in turns. Then auto and the best other plan are, in as many pairs:\n" +
			"the best of many plans in a sweep is also the luckiest.\n\n" +
			"After Eleliemy and Ciorba, \"DaphneSched\", 2023, and Barcelo, Queralt and Cortes,\n" +
			"\"Enhancing iteration performance\" (SplIter), 2023.",
		Example: `  papers loop components
  papers loop components --schemes mfsc,auto --queues central --repeat 20
  papers loop components --vertices 20169700 --edges 122170400  # the paper's
  papers loop linreg --plot chunks.svg
  papers loop kmeans --blocks 48
  papers loop kmeans --blocks 48 --cluster local:2`,
		Args:      cli.OneArg("loop wants one application: " + cli.Words(apps)),
		ValidArgs: cli.NamesOf(apps...),
		RunE:      func(cmd *cobra.Command, args []string) error { return runLoop(cmd.Context(), a, args[0], &f) },
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.IntVar(&f.size.Vertices, "vertices", 1<<20, "components: vertices of the graph")
	fl.IntVar(&f.size.Edges, "edges", 16<<20, "components: edges of the graph, of which some are equal")
	fl.IntVar(&f.size.Rows, "rows", 200000, "linreg: rows of the data")
	fl.IntVar(&f.size.Features, "features", 100, "linreg: features of a row")
	fl.IntVar(&f.size.Points, "points", 0, "points in blocks (default 1048576 for kmeans and histogram, 8192 for svm, 65536 for neighbours, with four queries for each)")
	fl.IntVar(&f.size.Dims, "dims", 0, "their coordinates (default 20 for kmeans and svm, 5 for histogram, 3 for neighbours)")
	fl.IntVar(&f.size.Blocks, "blocks", 8, "blocks of them for each worker")
	fl.IntVar(&f.size.Centres, "centres", 8, "kmeans: centres")
	fl.IntVar(&f.size.Iterations, "iterations", 10, "kmeans: iterations")
	fl.IntVar(&f.size.Bins, "bins", 4, "histogram: bins for each coordinate")
	fl.StringVar(&f.kernel, "kernel", svm.RBF.String(), "svm: "+cli.Words(svm.Kernels()))
	fl.IntVar(&f.size.Neighbours, "neighbours", 5, "neighbours: how many of each query")
	fl.StringVar(&f.forms, "forms", "all", "of points in blocks: all, "+cli.Words(loopapps.Forms()))
	fl.Uint64Var(&f.size.Seed, "seed", 1, "seed of the data")
	fl.StringVar(&f.schemes, "schemes", "", "schemes: all, "+cli.Words(schemes())+" (default all; auto where points are in blocks)")
	fl.StringVar(&f.queues, "queues", "", "queues: all, "+cli.Words(queueKinds())+" (default all that differ on this machine)")
	fl.StringVar(&f.victims, "victims", loop.SeqPri.String(), "whom to steal from: all, "+cli.Words(loop.Victims()))
	fl.IntVar(&f.grain, "grain", 0, "fewest items of a chunk")
	fl.IntVar(&f.workers, "workers", 0, "number of workers (default one per core)")
	fl.StringVar(&f.cluster, "cluster", "", "kmeans and histogram: local:N has the points on N agents of one worker each, which this program starts")
	fl.IntVar(&f.repeat, "repeat", 5, "runs of each plan, in turns")
	fl.StringVar(&f.plot, "plot", "", "draw who did which chunk when, in one more run of the best plan: a file .png or .svg")
	fl.BoolVar(&f.explain, "explain", false, "say what auto has learned")
	fl.BoolVar(&f.json, "json", false, "print one JSON document instead of a table")
	return cmd
}

// schemes returns all schemes, Auto first.
func schemes() []loop.Scheme { return append([]loop.Scheme{loop.Auto}, loop.Schemes()...) }

// queueKind is a layout of queues, with or without shares.
type queueKind struct {
	loop.Layout
	shares bool
}

func (q queueKind) String() string {
	if q.shares {
		return q.Layout.String() + "+shares"
	}
	return q.Layout.String()
}

// queueKinds returns all kinds of queues. A central queue has no shares.
func queueKinds() []queueKind {
	return []queueKind{{loop.Central, false}, {loop.PerSocket, false}, {loop.PerSocket, true}, {loop.PerCore, false}, {loop.PerCore, true}}
}

// cases returns the cases that the flags ask for. Victims make no difference with a central queue.
func (f *loopFlags) cases(kind loopapps.Kind, workers []exec.Worker) (cases []loopapps.Case, err error) {
	var errs cli.Problems
	usual := "all"
	if kind.Formed() {
		usual = loop.Auto.String()
	}
	chosen, err := cli.ParseWords("schemes", cmp.Or(f.schemes, usual), schemes())
	errs.Note(err)
	if k := slices.Index(cli.NamesOf(svm.Kernels()...), strings.ToLower(f.kernel)); k >= 0 {
		f.size.Kernel = svm.Kernels()[k]
	} else {
		errs.Note(&cli.ListError{Flag: "kernel", Element: f.kernel, Allowed: cli.Words(svm.Kernels())})
	}
	forms, err := cli.ParseWords("forms", f.forms, loopapps.Forms())
	errs.Note(err)
	kinds := queueKinds()
	if f.queues != "" {
		kinds, err = cli.ParseWords("queues", f.queues, kinds)
		errs.Note(err)
	} else if !slices.ContainsFunc(workers, func(w exec.Worker) bool { return w.Location != workers[0].Location }) {
		kinds = slices.DeleteFunc(kinds, func(q queueKind) bool { return q.Layout == loop.PerSocket })
	}
	victims, err := cli.ParseWords("victims", f.victims, loop.Victims())
	errs.Note(err)
	for _, n := range []struct {
		name       string
		got, least int
	}{
		{"vertices", f.size.Vertices, 1}, {"edges", f.size.Edges, 0}, {"rows", f.size.Rows, 2}, {"features", f.size.Features, 1},
		{"points", f.size.Points, 1}, {"dims", f.size.Dims, 1}, {"blocks", f.size.Blocks, 1}, {"centres", f.size.Centres, 1},
		{"iterations", f.size.Iterations, 1}, {"bins", f.size.Bins, 1}, {"neighbours", f.size.Neighbours, 1}, {"grain", f.grain, 0}, {"repeat", f.repeat, 1},
	} {
		errs.Within(n.name, n.got, n.least, 1<<31-1)
	}
	if kind.Formed() {
		if f.queues != "" {
			errs.Note(fmt.Errorf("--queues is not for %v, whose queues are the partitions", kind))
		}
		if f.plot != "" && !slices.ContainsFunc(forms, loopapps.Form.Loops) {
			errs.Note(errors.New("--plot draws a loop: it wants the form split or materialised"))
		}
		for _, form := range forms {
			for _, s := range chosen {
				for _, v := range victims {
					plan := loop.Plan{Scheme: s, Grain: f.grain}
					if s != loop.Auto {
						plan.Victim = v
					}
					cases = append(cases, loopapps.Case{Plan: plan, Form: form})
					if s == loop.Auto || !form.Loops() {
						break
					}
				}
				if !form.Loops() {
					break
				}
			}
		}
		return cases, cli.JoinLine(errs)
	}
	add := func(p loop.Plan) { cases = append(cases, loopapps.Case{Plan: p}) }
	for _, s := range chosen {
		if s == loop.Auto {
			add(loop.Plan{Grain: f.grain})
			continue
		}
		for _, q := range kinds {
			for i, v := range victims {
				if q.Layout != loop.Central {
					add(loop.Plan{Scheme: s, Layout: q.Layout, Shares: q.shares, Victim: v, Grain: f.grain})
				} else if i == 0 {
					add(loop.Plan{Scheme: s, Grain: f.grain})
				}
			}
		}
	}
	return cases, cli.JoinLine(errs)
}

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

// runLoop measures and prints the results.
func runLoop(ctx context.Context, a *cli.App, name string, f *loopFlags) error {
	kinds := loopapps.Kinds()
	i := slices.Index(cli.NamesOf(kinds...), strings.ToLower(name))
	if i < 0 {
		return cli.Usage(&cli.UnknownError{What: "application", Word: name, Known: cli.NamesOf(kinds...)})
	}
	var errs cli.Problems
	format := plotting.Picture(&errs, f.plot)
	if errs != nil {
		return cli.Usage(cli.JoinLine(errs))
	}
	if f.workers < 0 {
		return cli.Usage(fmt.Errorf("--workers is %d, want at least 0", f.workers))
	}
	kind := kinds[i]
	f.size.Default(kind)
	if f.cluster != "" {
		return runLoopOnNodes(ctx, a, kind, f)
	}
	a.WarnCrowded(cmp.Or(f.workers, exec.DefaultWorkers()))
	rt, err := exec.NewLocal(exec.Options{Workers: f.workers})
	if err != nil {
		return err
	}
	defer rt.Close()
	cases, err := f.cases(kind, rt.Workers())
	if err != nil {
		return cli.Usage(err)
	}
	line := report.NewStatus(a.Err)
	defer line.Clear()
	line.Set("making the data …")
	p, err := loopapps.New(ctx, rt, kind, f.size)
	if err != nil {
		return err
	}
	doc := loopDocument{Origin: origin.Here(), App: kind.String(), Data: p.Describe(), Bytes: p.Bytes(), Workers: len(rt.Workers()), Repeat: f.repeat}
	paint := report.NewPaint(a.Out)
	if !f.json {
		line.Clear()
		printLoopHead(a, paint, &doc)
	}
	var times func(float64) string
	watch := quiet.Start()
	rows, err := loopapps.Sweep(ctx, rt, p, cases, f.repeat, func(done, of int) { line.Set("%d/%d runs …", done, of) }, func(r *loopapps.Row) {
		row := newLoopRow(kind, r)
		doc.Plans = append(doc.Plans, row)
		if !f.json {
			line.Clear()
			if times == nil { // the others take about as long
				times = report.Durations(10 * row.Best)
			}
			printLoopRow(a, paint, &row, times)
		}
	})
	if err != nil {
		return err
	}
	for i := range rows {
		rival := loopapps.Rival(rows, i)
		if rows[i].Plan.Scheme != loop.Auto || rival == nil {
			continue
		}
		line.Set("auto and %v, in turns …", rival.Plan)
		ratios, err := loopapps.Pairs(ctx, rt, p, &rows[i], rival, f.repeat)
		if err != nil {
			return err
		}
		doc.Plans[i].Rival = &loopRival{Plan: rival.Plan.String(), Ratios: ratios}
		if !f.json {
			line.Clear()
			printLoopRival(a, &doc.Plans[i])
		}
	}
	line.Clear()
	if l, ok := watch.Stop(); ok {
		doc.Load = &l
		if l.Disturbs(doc.Workers) && !f.json {
			report.FprintWrapped(a.Out, report.Label("care"), report.Capital(l.String())+" meanwhile. "+report.Quieter)
		}
	}
	if f.explain {
		doc.Auto = explainAuto(rows)
		if !f.json {
			fmt.Fprint(a.Out, "\n", doc.Auto)
		}
	}
	if f.plot != "" {
		if err := drawLoop(ctx, rt, p, rows, f.plot, format); err != nil {
			return err
		}
	}
	if f.json {
		return a.Document(doc)
	}
	return nil
}

// agents returns how many agents --cluster asks for. They are processes of this program, because others do not know
// its tasks.
func (f *loopFlags) agents() (int, error) {
	count, local := strings.CutPrefix(f.cluster, "local:")
	n, err := strconv.Atoi(count)
	if !local || err != nil || n < 1 || n > 64 {
		return 0, &cli.ListError{Flag: "cluster", Element: f.cluster, Allowed: "local:1 to local:64: agents of this program, as others do not know its tasks"}
	}
	return n, nil
}

// runLoopOnNodes measures the forms of an application on points that are on several nodes, in turns.
func runLoopOnNodes(ctx context.Context, a *cli.App, kind loopapps.Kind, f *loopFlags) error {
	agents, err := f.agents()
	if err != nil {
		return cli.Usage(err)
	}
	if err := kind.OnNodes(); err != nil {
		return cli.Usage(err)
	}
	if f.workers != 0 || f.plot != "" || f.explain {
		return cli.Usage(errors.New("--cluster excludes --workers, --plot and --explain: agents have one worker each"))
	}
	cases, err := f.cases(kind, nil)
	if err != nil {
		return cli.Usage(err)
	}
	return onNodes(ctx, agents, func(d *cluster.Driver) error {
		x, err := loopapps.NewOnNodes(ctx, d, kind, f.size)
		if err != nil {
			return err
		}
		defer x.Close()
		doc := loopDocument{Origin: origin.Here(), App: kind.String(), Data: x.Describe(), Bytes: x.Bytes(), Workers: agents, Nodes: agents, Repeat: f.repeat}
		doc.Plans = make([]loopRow, len(cases))
		for turn := range f.repeat {
			for i, c := range cases {
				row := &doc.Plans[i]
				runtime.GC()
				before, began := moved(d), time.Now()
				tasks, err := x.Run(ctx, c)
				took := time.Since(began).Seconds()
				if err == nil {
					err = x.Verify(turn == 0 && i == 0)
				}
				if err != nil {
					return fmt.Errorf("%v: %w", c.Form, err)
				}
				row.Form, row.Chunks, row.Moved = c.Form.String(), tasks, moved(d)-before
				if c.Form.Loops() {
					row.Scheme = c.Plan.Scheme.String()
				}
				row.Seconds = append(row.Seconds, took)
			}
		}
		for i := range doc.Plans {
			row := &doc.Plans[i]
			slices.Sort(row.Seconds)
			row.Best, row.Median = row.Seconds[0], row.Seconds[len(row.Seconds)/2]
		}
		if f.json {
			return a.Document(doc)
		}
		report.FprintWrapped(a.Out, report.Label("data"), fmt.Sprintf("%s, %s, on %s of one worker", doc.Data, report.Bytes(float64(doc.Bytes)), report.Count(agents, "agent")))
		fmt.Fprintf(a.Out, "%-13s%-8s%11s%12s%8s%12s\n", "form", "scheme", "best", "median", "tasks", "moved")
		for _, row := range doc.Plans {
			times := report.Durations(10 * row.Best)
			fmt.Fprintf(a.Out, "%-13s%-8s%11s%12s%8d%12s\n", row.Form, row.Scheme, times(row.Best), times(row.Median), row.Chunks, report.Bytes(float64(row.Moved)))
		}
		return nil
	})
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

// drawLoop executes the application once more with the fastest plan, and draws its longest loop.
func drawLoop(ctx context.Context, rt exec.Runtime, p loopapps.Problem, rows []loopapps.Row, file string, format plotting.Format) error {
	formed, ok := p.(loopapps.Formed)
	var best *loopapps.Row
	for i := range rows {
		r := &rows[i]
		if ok && !r.Form.Loops() {
			continue // tasks have no chunks
		}
		if best == nil || r.Best() < best.Best() {
			best = r
		}
	}
	if ok {
		formed.SetForm(best.Form)
	}
	loops, err := p.Run(ctx, rt, loop.Options{Plan: best.Plan, Spans: true}, &best.Sites)
	if err != nil {
		return err
	}
	longest := 0
	for i := range loops {
		if loops[i].Took > loops[longest].Took {
			longest = i
		}
	}
	var picture bytes.Buffer
	if err := ganttOf(&loops[longest], p.Describe()).Render(&picture, format); err != nil {
		return err
	}
	return os.WriteFile(file, picture.Bytes(), 0o666)
}

// ganttOf returns the picture of a loop.
func ganttOf(s *loop.Stats, title string) *plotting.Gantt {
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	g := &plotting.Gantt{
		Title: fmt.Sprintf("%s\n%v: %.4g ms, imbalance %.1f %%", title, s.Plan, ms(s.Took), 100*s.Imbalance()), XLabel: "ms",
		Kinds: []string{"own queue", "stolen"},
	}
	for w := range s.Workers {
		g.Rows = append(g.Rows, fmt.Sprintf("worker %d", w))
	}
	for _, x := range s.Spans {
		kind := 0
		if slices.ContainsFunc(s.Workers[x.Worker].Steals, func(t loop.Steals) bool { return t.Queue == x.Queue }) {
			kind = 1
		}
		g.Bars = append(g.Bars, plotting.Bar{Row: x.Worker, Kind: kind, From: ms(x.Start), To: ms(x.End)})
	}
	return g
}
