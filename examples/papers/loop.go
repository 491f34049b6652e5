package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/tessera-la/tessera/examples/papers/internal/loopapps"
	"github.com/tessera-la/tessera/examples/papers/internal/svm"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/loop"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/origin"
	"github.com/tessera-la/tessera/internal/plotting"
	"github.com/tessera-la/tessera/internal/quiet"
	"github.com/tessera-la/tessera/internal/report"
)

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

// runLoop measures and prints the results.
func runLoop(ctx context.Context, a *cli.App, name string, f *loopFlags) error {
	kinds := loopapps.Kinds()
	i := slices.Index(cli.NamesOf(kinds...), strings.ToLower(name))
	if i < 0 {
		return cli.Usage(&cli.UnknownError{What: "application", Word: name, Known: cli.NamesOf(kinds...)})
	}
	kind := kinds[i]
	var errs cli.Problems
	format := plotting.Picture(&errs, f.plot)
	if errs != nil {
		return cli.Usage(cli.JoinLine(errs))
	}
	if f.workers < 0 {
		return cli.Usage(fmt.Errorf("--workers is %d, want at least 0", f.workers))
	}
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
	m := loopRun{loopFlags: f, app: a, kind: kind, rt: rt, line: report.NewStatus(a.Err)}
	defer m.line.Clear()
	m.line.Set("making the data …")
	if m.problem, err = loopapps.New(ctx, rt, kind, f.size); err != nil {
		return err
	}
	m.line.Clear()
	p := m.problem
	m.doc = loopDocument{Origin: origin.Here(), App: kind.String(), Data: p.Describe(), Bytes: p.Bytes(), Workers: len(rt.Workers()), Repeat: f.repeat}
	watch := quiet.Start()
	rows, err := m.sweep(ctx, cases)
	if err == nil {
		err = m.compareAuto(ctx, rows)
	}
	m.line.Clear()
	if err != nil {
		return err
	}
	if l, ok := watch.Stop(); ok {
		m.doc.Load = &l
		if l.Disturbs(m.doc.Workers) && !f.json {
			report.FprintWrapped(a.Out, report.Label("care"), report.Capital(l.String())+" meanwhile. "+report.Quieter)
		}
	}
	if f.explain {
		m.doc.Auto = explainAuto(rows)
		if !f.json {
			fmt.Fprint(a.Out, "\n", m.doc.Auto)
		}
	}
	if f.plot != "" {
		if err := drawLoop(ctx, rt, p, rows, f.plot, format); err != nil {
			return err
		}
	}
	if f.json {
		return a.Document(m.doc)
	}
	return nil
}

// loopRun measures one application. Without --json it prints each result as soon as it has it.
type loopRun struct {
	*loopFlags
	app     *cli.App
	kind    loopapps.Kind
	rt      exec.Runtime
	problem loopapps.Problem
	line    *report.Status
	doc     loopDocument
}

// sweep runs the cases in turns.
func (m *loopRun) sweep(ctx context.Context, cases []loopapps.Case) ([]loopapps.Row, error) {
	paint := report.NewPaint(m.app.Out)
	if !m.json {
		printLoopHead(m.app, paint, &m.doc)
	}
	var times func(float64) string
	progress := func(done, of int) { m.line.Set("%d/%d runs …", done, of) }
	return loopapps.Sweep(ctx, m.rt, m.problem, cases, m.repeat, progress, func(r *loopapps.Row) {
		row := newLoopRow(m.kind, r)
		m.doc.Plans = append(m.doc.Plans, row)
		if !m.json {
			m.line.Clear()
			if times == nil { // the others take about as long
				times = report.Durations(10 * row.Best)
			}
			printLoopRow(m.app, paint, &row, times)
		}
	})
}

// compareAuto runs auto and the best other plan in pairs, for each form.
func (m *loopRun) compareAuto(ctx context.Context, rows []loopapps.Row) error {
	for i := range rows {
		rival := loopapps.Rival(rows, i)
		if rows[i].Plan.Scheme != loop.Auto || rival == nil {
			continue
		}
		m.line.Set("auto and %v, in turns …", rival.Plan)
		ratios, err := loopapps.Pairs(ctx, m.rt, m.problem, &rows[i], rival, m.repeat)
		if err != nil {
			return err
		}
		m.doc.Plans[i].Rival = &loopRival{Plan: rival.Plan.String(), Ratios: ratios}
		if !m.json {
			m.line.Clear()
			printLoopRival(m.app, &m.doc.Plans[i])
		}
	}
	return nil
}
