package planner

import (
	"context"
	"io"

	"github.com/tessera-la/tessera/cmd/labench/internal/sweep"

	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/exec/sim"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/report"
)

// forecasts are predictions, printed one by one.
type forecasts struct {
	f       *forecastFlags
	machine *sim.Machine
	all     []wish  // the combinations to list
	done    []trial // predictions so far; --best predicts unlisted combinations, too
	table   forecastTable
}

// add prints the prediction of one combination.
func (p *forecasts) add(a *cli.App, t trial) error {
	p.done = append(p.done, t)
	return sweep.Print(a, p.f.json, t.x, func() string {
		paint := report.NewPaint(a.Out)
		switch {
		case len(p.all) == 1 && !p.f.best:
			return forecastText(paint, p.machine, &t.x)
		case len(p.done) == 1:
			p.table = newForecastTable(&t.x, p.all)
			return paint.Faint(p.table.Head()) + p.table.row(&t.x)
		}
		return p.table.row(&t.x)
	})
}

// forecastAll predicts all listed combinations. If there are several, some may fail.
func forecastAll(ctx context.Context, a *cli.App, base bench.Problem, p *forecasts, failed *sweep.Error) error {
	several := len(p.all) > 1
	err := sweep.Each(a, p.all, func(w wish, say func(string, ...any)) (*trial, error) {
		say("")
		// A recording takes some hundred bytes per task: with many tasks, record only if asked for.
		const many = 100 // tiles in a row
		x, err := w.predict(ctx, base, p.machine, !several && (p.f.record.Trace != "" || w.nb == 0 || w.n/w.nb <= many))
		if err != nil && several && ctx.Err() == nil {
			failed.Failed = append(failed.Failed, sweep.Failure{Point: w.String(), Why: err.Error()})
			return nil, nil
		}
		return &trial{w, x}, err
	}, func(t *trial) error {
		if t == nil {
			return nil
		}
		return p.add(a, *t)
	})
	if err == nil && len(p.done) > 1 && !p.f.json {
		_, err = io.WriteString(a.Out, p.table.fastest(report.NewPaint(a.Out), p.done))
	}
	return err
}

// write writes the requested files.
func (p *forecasts) write() error {
	f := p.f
	if f.record.Trace != "" {
		if err := f.record.Write(p.done[0].x.Recording); err != nil {
			return err
		}
	}
	if f.plot != "" {
		if err := cli.WriteWhole([]string{f.plot}, func(to []io.Writer) error { return forecastChart(p.machine, p.done).Render(to[0], f.format) }); err != nil {
			return err
		}
	}
	var rows [][]any
	for i := range p.done {
		x := &p.done[i].x
		t := x.Sum()
		rows = append(rows, []any{x.Op, x.Type, x.N, x.NB, x.Count, x.Rows, x.Workers, x.Sched, x.Seconds, x.GFLOPS, t.Busy, t.Starving, t.Throttled, t.Driver, t.Idle, x.Moved, x.Memory})
	}
	return cli.WriteCSV(f.csv, []string{"op", "type", "n", "nb", "nodes", "grid_rows", "workers", "sched", "seconds", "gflops", "seconds_busy", "seconds_starving", "seconds_throttled", "seconds_driver", "seconds_idle", "bytes_moved", "bytes_node"}, rows)
}
