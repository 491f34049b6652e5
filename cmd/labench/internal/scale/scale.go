package scale

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/cmd/labench/internal/setup"
	"github.com/tessera-la/tessera/cmd/labench/internal/sweep"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/plotting"
	"github.com/tessera-la/tessera/internal/report"
)

// NewCommand returns the command labench scale.
func NewCommand(a *cli.App) *cobra.Command {
	f := scaleFlags{nodes: new(onNodes)}
	cmd := &cobra.Command{
		Use:   "scale [" + strings.Join(bench.Ops(), "|") + "]",
		Short: "Sweep over sizes, workers, tile sizes, policies and versions",
		Long: `Run an operation (default cholesky) for every combination of the sizes, workers,
tile sizes, policies, versions and devices given, and print a table, and on
request a CSV file and a plot. Lists are separated by commas and may have ranges
first:last:step, or first:last:xfactor for steps that multiply.

The speed-up is over one worker with everything else the same, and the
efficiency is the speed-up per worker: both need 1 among the workers. The FMA
peak of each number of workers is measured once, before the first point.

With --oversubscribe there are more workers than cores, spread evenly, as in the
first figure of the results of Amela et al. (2018): what waits for something
other than a core may gain, arithmetic does not. Tiles are those of factor 1.

With --threads each task runs MKL on so many threads of its own, which are bound
to the cores of as many workers: a task waits until these are idle. With both,
tasks × threads are the cores times the factor, as in that figure.

With --cluster the sweep is over numbers of nodes instead of workers, each with
the same number of workers; speed-up and efficiency are over one node. This
process drives and does not compute. With --machine the plan of each point is
beside it: labench machine writes such a file.`,
		Example: `  labench scale --workers 1:16:x2 --plot scaling.png
  labench scale gemm -n 256:4096:256 --nb 64,128,256,auto --csv tiles.csv
  labench scale cholesky -n 4096 --sched all --versions go,openblas
  labench scale gemm -n 4096 --nb 512,1024 --oversubscribe 1:8 --plot over.svg
  labench scale gemm -n 4096 --nb 512,1024 --threads 1,2,4 --oversubscribe 1:8
  labench scale cholesky --cluster local:1:2 --distributed --sched owner,fifo
  labench scale lu -n 30000 --cluster nodes.toml --distributed --plot nodes.svg
  mpirun -n 5 labench scale gemm --cluster mpi --distributed --nodes 1:4`,
		ValidArgs: bench.Ops(),
		Args:      oneOperation,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.op = "cholesky"
			if len(args) > 0 {
				f.op = args[0]
			}
			f.given = cmd.Flags().Changed
			check := func() error {
				_, err := f.plan()
				return cli.Usage(err)
			}
			f.nodes.Sweeps = true
			return f.nodes.OnRanks(cmd.Context(), a, f.onRank(), check, func() error {
				return runScale(cmd.Context(), a, &f, scaleMachine{bench.Run, bench.Peak})
			})
		},
	}
	f.register(cmd)
	return cmd
}

// oneOperation checks that the arguments are at most one operation.
func oneOperation(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return cli.Usage(fmt.Errorf("scale runs one operation, not %s", strings.Join(args, " and ")))
	}
	if len(args) > 0 && !slices.Contains(bench.Ops(), args[0]) {
		return cli.Usage(&cli.UnknownError{What: "operation", Word: args[0], Known: bench.Ops()})
	}
	return nil
}

// scaleMachine is the machine of labench scale. Tests replace it.
type scaleMachine struct {
	run  runFunc
	peak peakFunc
}

// runScale runs the sweep and reports it. If a point fails, the others are still run. If ctx ends, the points
// so far are reported.
func runScale(ctx context.Context, a *cli.App, f *scaleFlags, m scaleMachine) error {
	p, err := f.plan()
	if err != nil {
		return cli.Usage(err)
	}
	if setup.WarnNoDevice(a, f.devices) {
		p.sweep.devices = deviceSets("none")
	}
	// Unknown versions would fail in every point.
	for _, v := range p.sweep.versions {
		if v.threads > 0 {
			continue // these have been added to the table
		}
		if err := setup.CheckVersions(v.only, nil); err != nil {
			return err
		}
	}
	profile, err := setup.OpenProfile(a, f.profile)
	if err != nil {
		return err
	}
	p.sweep.base.Profile = profile.Profile
	if p.sweep.nodes != nil {
		p.sweep.app = a
		f.nodes.profiles(f.profile)
	} else if p.sweep.cores == 0 {
		a.WarnCrowded(slices.Max(p.sweep.workers))
	}

	if err := measurePeaks(ctx, a, p, m.peak); err != nil {
		return err
	}
	table := newScaleTable(&p.sweep)
	if !f.json {
		fmt.Fprint(a.Out, table.head())
	}
	var points []point
	settings := p.sweep.settings()
	err = sweep.Each(a, settings, func(s setting, say func(string, ...any)) (point, error) {
		say("%s …", s)
		return p.sweep.run(ctx, s, points, m.run)
	}, func(q point) error {
		points = append(points, q)
		return sweep.Print(a, f.json, q, func() string { return table.row(q) })
	})
	if err != nil && ctx.Err() == nil {
		return err
	}
	if !f.json {
		fmt.Fprint(a.Out, table.disturbed.Note())
	}
	if ctx.Err() == nil {
		profile.Keep(a)
	} else {
		a.Warn(fmt.Sprintf("interrupted after %d of %d points", len(points), len(settings)))
	}
	return cli.JoinLine([]error{f.write(p, points), ctx.Err(), failures(points)})
}

// measurePeaks measures the peaks of the numbers of workers, unless nothing is to be compared with them.
func measurePeaks(ctx context.Context, a *cli.App, p *scalePlan, peak peakFunc) error {
	if a.NoPeak || p.sweep.nodes != nil && p.sweep.nodes.each == 0 {
		return nil
	}
	line := report.NewStatus(a.Err)
	line.Set("measuring the FMA peak …")
	err := p.sweep.measurePeaks(ctx, peak)
	line.Clear()
	if err == nil && p.sweep.peakDisturbed {
		a.Warn("other programs, or the hypervisor, had a part of the cores while the peak was measured, three times over: it may be too low")
	}
	return err
}

// write writes the requested files. Without points it writes nothing.
func (f *scaleFlags) write(p *scalePlan, points []point) error {
	if len(points) == 0 {
		return nil
	}
	if err := cli.WriteCSV(f.csv, csvColumns(), csvRows(points)); err != nil || f.plot == "" {
		return err
	}
	var picture bytes.Buffer
	err := chartOf(&p.sweep, p.x, points).Render(&picture, p.format)
	if errors.Is(err, plotting.ErrEmpty) {
		return nil // no point has a rate, which is an error of its own
	}
	if err != nil {
		return err
	}
	return os.WriteFile(f.plot, picture.Bytes(), 0o666)
}

// failures returns a *sweep.Error if points failed.
func failures(points []point) error {
	e := &sweep.Error{Total: len(points)}
	for _, p := range points {
		if why := p.failure(); why != "" {
			e.Failed = append(e.Failed, sweep.Failure{Point: p.setting.String(), Why: why})
		}
	}
	return e.Err()
}
