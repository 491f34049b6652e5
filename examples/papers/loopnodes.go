package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tessera-la/tessera/examples/internal/study"
	"github.com/tessera-la/tessera/examples/papers/internal/loopapps"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/origin"
	"github.com/tessera-la/tessera/internal/report"
	"github.com/tessera-la/tessera/transport/web"
)

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
		if doc.Plans, err = sweepOnNodes(ctx, d, x, cases, f.repeat); err != nil {
			return err
		}
		if f.json {
			return a.Document(doc)
		}
		report.FprintWrapped(a.Out, report.Label("data"), fmt.Sprintf("%s, %s, on %s of one worker", doc.Data, report.Bytes(float64(doc.Bytes)), report.Count(agents, "agent")))
		fmt.Fprintf(a.Out, "%-13s%-8s%11s%12s%8s%12s\n", "form", "scheme", "best", "median", "tasks", "moved")
		for _, row := range doc.Plans {
			times := inColumn(report.Durations(10*row.Best), row.Median)
			fmt.Fprintf(a.Out, "%-13s%-8s%11s%12s%8d%12s\n", row.Form, row.Scheme, times(row.Best), times(row.Median), row.Chunks, report.Bytes(float64(row.Moved)))
		}
		return nil
	})
}

// sweepOnNodes runs the cases in turns.
func sweepOnNodes(ctx context.Context, d *cluster.Driver, x *loopapps.OnNodes, cases []loopapps.Case, repeat int) ([]loopRow, error) {
	rows := make([]loopRow, len(cases))
	for turn := range repeat {
		for i, c := range cases {
			row := &rows[i]
			runtime.GC()
			before, began := moved(d), time.Now()
			tasks, err := x.Run(ctx, c)
			took := time.Since(began).Seconds()
			if err == nil {
				err = x.Verify(turn == 0 && i == 0)
			}
			if err != nil {
				return nil, fmt.Errorf("%v: %w", c.Form, err)
			}
			row.Form, row.Chunks, row.Moved = c.Form.String(), tasks, moved(d)-before
			if c.Form.Loops() {
				row.Scheme = c.Plan.Scheme.String()
			}
			row.Seconds = append(row.Seconds, took)
		}
	}
	for i := range rows {
		row := &rows[i]
		slices.Sort(row.Seconds)
		row.Best, row.Median = row.Seconds[0], row.Seconds[len(row.Seconds)/2]
	}
	return rows, nil
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

// onNodes calls run with a driver that executes nothing and agents of one worker each, in processes of their own.
func onNodes(ctx context.Context, agents int, run func(*cluster.Driver) error) error {
	opt, err := loopapps.Node("driver")
	if err != nil {
		return err
	}
	defer opt.Runtime.Close()
	opt.Idle = true
	d, err := cluster.NewDriver(opt)
	if err != nil {
		return err
	}
	defer d.Close()
	for k := range agents {
		_, end, err := study.Start(fmt.Sprint("agent", k), web.Address(opt.Transport))
		if err != nil {
			return err
		}
		defer end()
	}
	soon, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := d.Await(soon, agents); err != nil {
		return err
	}
	return errors.Join(run(d), d.Close()) // before the agents end
}

// moved returns the bytes that nodes have fetched from one another so far.
func moved(d *cluster.Driver) (bytes int64) {
	for _, u := range d.Usage() {
		bytes += u.In
	}
	return bytes
}
