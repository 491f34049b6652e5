package dropin

import (
	"cmp"
	"context"
	"fmt"
	"github.com/tessera-la/tessera/cmd/labench/internal/sweep"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/tessera-la/tessera/cmd/labench/internal/inspect"
	"github.com/tessera-la/tessera/cmd/labench/internal/matcalls"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/report"
	"github.com/tessera-la/tessera/internal/topo"
	"github.com/tessera-la/tessera/kernels/cpu"
)

// dropinFlags are the flags of labench dropin.
type dropinFlags struct {
	sizes, ops      string
	workers, repeat int
	json            bool
}

// NewCommand returns the command labench dropin.
func NewCommand(a *cli.App) *cobra.Command {
	var f dropinFlags
	cmd := &cobra.Command{
		Use:   "dropin",
		Short: "Compare gonum programs with and without la/dropin",
		Long: `Call gonum's mat.Dense.Mul and Factorize of mat.Cholesky, mat.LU and mat.QR with
la/dropin behind them, and with what else can be: gonum alone, and in a build
with -tags openblas,lapacke also gonum's netlib with OpenBLAS, on as many
threads. They take turns in one process, on the same matrices, and every turn's
last result is checked. What Factorize does beside the factorization, as
estimating the condition number, is part of the time.

A ratio is with la/dropin over without in GFLOP/s: above 1, la/dropin is faster.`,
		Example: `  labench dropin -n 2048
  env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE \
    go run -tags openblas,lapacke ./cmd/labench dropin`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			info, _ := cpu.BLASLibrary()
			return f.run(cmd.Context(), a, &dropinMachine{info, os.LookupEnv, matcalls.HasNetlib(), matcalls.Compare})
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVarP(&f.sizes, "n", "n", "512,1024,2048", "orders of the matrices: numbers and ranges first:last:step")
	fl.StringVar(&f.sizes, "sizes", f.sizes, "what -n was called before")
	_ = fl.MarkHidden("sizes") // until the next release
	fl.StringVar(&f.ops, "ops", "all", "all, or some of "+cli.Words(matcalls.Ops()))
	fl.IntVar(&f.workers, "workers", 0, "our workers, and the library's threads (default one per core)")
	fl.IntVar(&f.repeat, "repeat", 7, "turns of each side; gonum alone has at most 3")
	fl.BoolVar(&f.json, "json", false, "print one JSON object for each comparison")
	return cmd
}

// dropinMachine is the machine of labench dropin. Tests replace it.
type dropinMachine struct {
	library   cpu.BLASInfo // empty if there is none
	lookupEnv func(string) (string, bool)
	netlib    bool // the comparison with gonum's netlib is possible
	compare   func(context.Context, matcalls.Config, matcalls.Op, int) (matcalls.Result, error)
}

// run compares and reports. Errors are returned after all results are printed.
func (f *dropinFlags) run(ctx context.Context, a *cli.App, m *dropinMachine) error {
	var bad cli.Problems
	sizes, err := cli.ParseInts("n", f.sizes, nil)
	bad.Note(err)
	ops, err := cli.ParseWords("ops", f.ops, matcalls.Ops())
	bad.Note(err)
	bad.Within("workers", f.workers, 0, 1<<16)
	bad.Within("repeat", f.repeat, 1, 1<<20)
	if bad != nil {
		return cli.Usage(cli.JoinLine(bad))
	}
	if set := inspect.StrawMan(m.lookupEnv); m.netlib && set != nil {
		return fmt.Errorf("the environment has %s, which OpenBLAS reads when the process starts, and which keeps it from its own "+
			"choice of kernels for this processor: the comparison would be with a straw man. Run env -u OPENBLAS_CORETYPE "+
			"-u OPENBLAS_L2_SIZE labench dropin", strings.Join(set, " and "))
	}
	config := matcalls.Config{Workers: cmp.Or(f.workers, exec.DefaultWorkers()), Repeat: f.repeat, Warmup: 2,
		Turn: 30 * time.Millisecond, Settle: 60 * time.Millisecond, Seed: 1}
	a.WarnCrowded(config.Workers)
	type point struct {
		op matcalls.Op
		n  int
	}
	points, err := sweep.Grid("compared", func(i []int) point { return point{ops[i[0]], sizes[i[1]]} }, len(ops), len(sizes))
	if err != nil {
		return cli.Usage(err)
	}
	table := report.NewTable("mat", -9, "n", 5, "dropin", 10, "median", 8, "netlib", 10, "gonum", 8, "ratio", 9, "ratio", 9)
	if !f.json {
		if _, err := io.WriteString(a.Out, dropinHead(m, config)+" "+table.Head()); err != nil {
			return err
		}
	}
	var wrong cli.Problems
	var disturbed report.Disturbance
	err = sweep.Each(a, points, func(p point, say func(string, ...any)) (matcalls.Result, error) {
		say("%v n=%d …", p.op, p.n)
		r, err := m.compare(ctx, config, p.op, p.n)
		switch {
		case err != nil:
			return r, cli.JoinLine(append(wrong, fmt.Errorf("%v n=%d: %w", p.op, p.n, err)))
		case !r.Passed:
			wrong.Note(fmt.Errorf("%v n=%d: wrong result: residual %.3g with la/dropin, %.3g without", p.op, p.n, r.Dropin.Residual, r.Gonum.Residual))
		}
		if m.netlib {
			r.Library, r.Core = m.library.Name, m.library.Core
		}
		return r, nil
	}, func(r matcalls.Result) error {
		return sweep.Print(a, f.json, r, func() string {
			row := disturbed.Mark(r.Load, r.Workers, r.Dropin.SecondsMedian/r.Dropin.SecondsBest-1, false) + table.Row(dropinCells(r)...)
			if !r.Passed {
				row += "  ! wrong result\n"
			}
			return row
		})
	})
	if err != nil {
		return err
	}
	if _, err := io.WriteString(a.Out, disturbed.Note()); err != nil {
		return err
	}
	return cli.JoinLine(wrong)
}

// dropinHead returns what stands above the table.
func dropinHead(m *dropinMachine, c matcalls.Config) string {
	netlib := "no netlib in this build: -tags openblas,lapacke has it"
	if m.netlib {
		netlib = fmt.Sprintf("netlib: %s, kernels for %s, %s", m.library.Name, cmp.Or(m.library.Core, "an unknown processor"), report.Count(c.Workers, "thread"))
	}
	return report.Wrapped("", topo.Detect().String()) + report.Wrapped("", netlib) +
		report.Wrapped("", fmt.Sprintf("la/dropin: %s; GFLOP/s, best of %d turns; ratio = dropin over the others", report.Count(c.Workers, "worker"), c.Repeat)) + "\n"
}

// dropinCells returns the cells of a row of the table.
func dropinCells(r matcalls.Result) []any {
	rate := func(x float64) string { return fmt.Sprintf("%.1f", x) }
	netlib, over := "-", "-"
	if r.Netlib != nil {
		netlib, over = rate(r.Netlib.GFLOPSBest), fmt.Sprintf("%.3f", *r.OverNetlib)
	}
	return []any{r.Op, r.N, rate(r.Dropin.GFLOPSBest), rate(r.Dropin.GFLOPSMedian), netlib, rate(r.Gonum.GFLOPSBest), over, fmt.Sprintf("%.3f", r.OverGonum)}
}
