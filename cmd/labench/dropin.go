package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/tessera-la/tessera/cmd/labench/internal/matcalls"
	"github.com/tessera-la/tessera/internal/topo"
	"github.com/tessera-la/tessera/kernels/cpu"
)

// dropinFlags is the command line of labench dropin.
type dropinFlags struct {
	sizes, ops     string
	workers        int
	repeat, warmup int
	turn, settle   time.Duration
	seed           uint64
	require        []string
	json, anyway   bool
}

// newDropinCommand returns the command labench dropin.
func newDropinCommand(a *app) *cobra.Command {
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
		Example: `  labench dropin --sizes 2048
  env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE \
    go run -tags openblas,lapacke ./cmd/labench dropin \
    --require mul:2048:netlib:1.1 --require mul:2048:gonum:10`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			info, _ := cpu.BLASLibrary()
			return f.run(cmd.Context(), a, &dropinMachine{info, os.LookupEnv, matcalls.HasNetlib(), matcalls.Compare})
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.sizes, "sizes", "512,1024,2048", "orders of the matrices: numbers and ranges first:last:step")
	fl.StringVar(&f.ops, "ops", "all", "all, or some of "+words(matcalls.Ops()))
	intFlag(cmd, &f.workers, "workers", "", 0, "our workers, and the library's threads (default one per core)")
	intFlag(cmd, &f.repeat, "repeat", "", 7, "turns of each side; gonum alone has at most 3")
	intFlag(cmd, &f.warmup, "warmup", "", 2, "turns of each side before, not timed")
	durationFlag(cmd, &f.turn, "turn", 30*time.Millisecond, "repeat short calls in a turn for this long")
	durationFlag(cmd, &f.settle, "settle", 60*time.Millisecond, "pause before each turn, for the other side's threads to stop spinning")
	seedFlag(cmd, &f.seed, "seed of the matrices")
	fl.StringArrayVar(&f.require, "require", nil, "fail if the ratio of the best times is lower:\nop:n:netlib:ratio or op:n:gonum:ratio; repeatable")
	boolFlag(cmd, &f.json, "json", false, "print one JSON object for each comparison")
	boolFlag(cmd, &f.anyway, "anyway", false, "run although the environment keeps OpenBLAS from its best kernels")
	return cmd
}

// dropinMachine is what labench dropin runs on; a test has another one.
type dropinMachine struct {
	library   cpu.BLASInfo // empty if there is none
	lookupEnv func(string) (string, bool)
	netlib    bool // can be compared with
	compare   func(context.Context, matcalls.Config, matcalls.Op, int) (matcalls.Result, error)
}

// matRequirement is a ratio that must be reached.
type matRequirement struct {
	op      matcalls.Op
	n       int
	against string // "gonum" or "netlib"
	ratio   float64
}

// parseMatRequirement reads op:n:against:ratio. The error is a *listError.
func parseMatRequirement(s string) (matRequirement, error) {
	bad := &listError{"require", s, "op:n:against:ratio with op one of " + words(matcalls.Ops()) +
		", n a size that runs, against netlib or gonum, and a ratio above 0, as in lu:2048:netlib:1.5"}
	parts := strings.Split(s, ":")
	if len(parts) != 4 {
		return matRequirement{}, bad
	}
	ops, err := parseWords("require", parts[0], matcalls.Ops())
	n, ok := positive(parts[1])
	ratio, err2 := strconv.ParseFloat(parts[3], 64)
	if err != nil || len(ops) != 1 || err2 != nil || !ok || !(ratio > 0 && ratio < 1e6) || parts[2] != "gonum" && parts[2] != "netlib" {
		return matRequirement{}, bad
	}
	return matRequirement{ops[0], n, parts[2], ratio}, nil
}

// dropinPlan is the command line, understood.
type dropinPlan struct {
	sizes   []int
	ops     []matcalls.Op
	require []matRequirement
	config  matcalls.Config
}

func (f *dropinFlags) plan(netlib bool) (*dropinPlan, error) {
	var p dropinPlan
	var errs []error
	check := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	var err error
	p.sizes, err = parseInts("sizes", f.sizes, nil)
	check(err)
	p.ops, err = parseWords("ops", f.ops, matcalls.Ops())
	check(err)
	for _, s := range f.require {
		r, err := parseMatRequirement(s)
		if err == nil && len(errs) == 0 && (!slices.Contains(p.sizes, r.n) || !slices.Contains(p.ops, r.op)) {
			err = fmt.Errorf("--require %s: neither --sizes %s nor --ops %s would tell", s, f.sizes, f.ops)
		}
		if err == nil && r.against == "netlib" && !netlib {
			err = fmt.Errorf("--require %s: this build has no netlib to compare with; build with -tags openblas,lapacke", s)
		}
		check(err)
		p.require = append(p.require, r)
	}
	check(f.checkTurns())
	p.config = matcalls.Config{Workers: cmp.Or(f.workers, topo.Detect().Workers()), Repeat: f.repeat, Warmup: f.warmup,
		Turn: f.turn, Settle: f.settle, Seed: f.seed}
	return &p, joinLine(errs)
}

// checkTurns reports everything that is wrong with how sides take turns.
func (f *dropinFlags) checkTurns() error {
	var errs []error
	for _, v := range []struct {
		flag     string
		value    int
		min, max int
	}{{"workers", f.workers, 0, 1 << 16}, {"repeat", f.repeat, 1, 1 << 20}, {"warmup", f.warmup, 0, 1 << 20}} {
		if v.value < v.min || v.value > v.max {
			errs = append(errs, &listError{v.flag, strconv.Itoa(v.value), fmt.Sprintf("%d to %d", v.min, v.max)})
		}
	}
	for _, v := range []struct {
		flag  string
		value time.Duration
	}{{"turn", f.turn}, {"settle", f.settle}} {
		if v.value < 0 || v.value > time.Minute {
			errs = append(errs, &listError{v.flag, v.value.String(), "0s to 1m"})
		}
	}
	return joinLine(errs)
}

// shortfalls returns the requirements that r does not meet.
func (p *dropinPlan) shortfalls(r matcalls.Result) (errs []error) {
	for _, q := range p.require {
		if q.op.String() != r.Op || q.n != r.N {
			continue
		}
		if ratio, ok := r.Ratio(q.against); !ok || !(ratio >= q.ratio) {
			errs = append(errs, fmt.Errorf("%s n=%d: the ratio to %s is %.3f, and --require wants at least %g", r.Op, r.N, q.against, ratio, q.ratio))
		}
	}
	return errs
}

// run compares and reports. Whatever is wrong in the end comes after the
// results.
func (f *dropinFlags) run(ctx context.Context, a *app, m *dropinMachine) error {
	p, err := f.plan(m.netlib)
	if err != nil {
		return usage(err)
	}
	if set := strawMan(m.lookupEnv); m.netlib && set != nil {
		what := strings.Join(set, " and ")
		if !f.anyway {
			return fmt.Errorf("the environment has %s, which OpenBLAS reads when the process starts, and which keeps it from its own "+
				"choice of kernels for this processor: the comparison would be with a straw man. Run env -u OPENBLAS_CORETYPE "+
				"-u OPENBLAS_L2_SIZE labench dropin, or insist with --anyway", what)
		}
		a.warn(what + " may keep OpenBLAS from the kernels it would choose by itself")
	}
	a.warnCrowded(p.config.Workers)
	if !f.json {
		if err := p.head(a.out, m); err != nil {
			return err
		}
	}
	line := newStatus(a.err)
	defer line.clear()
	var problems []error
	for _, op := range p.ops {
		for _, n := range p.sizes {
			line.set("%v n=%d …", op, n)
			r, err := m.compare(ctx, p.config, op, n)
			line.clear()
			if err != nil {
				return joinLine(append(problems, fmt.Errorf("%v n=%d: %w", op, n, err)))
			}
			if m.netlib {
				r.Library, r.Core = m.library.Name, m.library.Core
			}
			if f.json {
				err = json.NewEncoder(a.out).Encode(r)
			} else {
				_, err = io.WriteString(a.out, dropinRow(r))
			}
			if err != nil {
				return err
			}
			if !r.Passed {
				problems = append(problems, fmt.Errorf("%v n=%d: wrong result: residual %.3g with la/dropin, %.3g without", op, n, r.Dropin.Residual, r.Gonum.Residual))
			}
			problems = append(problems, p.shortfalls(r)...)
		}
	}
	return joinLine(problems)
}

const dropinLayout = "%-9s %5s %10s %8s %10s %8s %9s %9s\n"

// head writes what stands above the rows.
func (p *dropinPlan) head(w io.Writer, m *dropinMachine) error {
	var b strings.Builder
	b.WriteString(wrapped("", topo.Detect().String()))
	if m.netlib {
		b.WriteString(wrapped("", fmt.Sprintf("netlib: %s, kernels for %s, %s", m.library.Name, cmp.Or(m.library.Core, "an unknown processor"), count(p.config.Workers, "thread"))))
	} else {
		b.WriteString(wrapped("", "no netlib in this build: -tags openblas,lapacke has it"))
	}
	b.WriteString(wrapped("", fmt.Sprintf("la/dropin: %s; GFLOP/s, best of %d turns; ratio = dropin over the others", count(p.config.Workers, "worker"), p.config.Repeat)) + "\n")
	fmt.Fprintf(&b, dropinLayout, "mat", "n", "dropin", "median", "netlib", "gonum", "ratio", "ratio")
	_, err := io.WriteString(w, b.String())
	return err
}

// dropinRow returns a row of the table.
func dropinRow(r matcalls.Result) string {
	rate := func(s *matcalls.Side) string { return fmt.Sprintf("%.1f", s.GFLOPSBest) }
	netlib, over := "-", "-"
	if r.Netlib != nil {
		netlib, over = rate(r.Netlib), fmt.Sprintf("%.3f", *r.OverNetlib)
	}
	row := fmt.Sprintf(dropinLayout, r.Op, strconv.Itoa(r.N), rate(&r.Dropin), fmt.Sprintf("%.1f", r.Dropin.GFLOPSMedian), netlib, rate(&r.Gonum), over,
		fmt.Sprintf("%.3f", r.OverGonum))
	if !r.Passed {
		row += "  ! wrong result\n"
	}
	return row
}
