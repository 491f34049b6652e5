package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/cmd/labench/internal/calibrate"
	"github.com/tessera-la/tessera/cmd/labench/internal/quiet"
	"github.com/tessera-la/tessera/exec/sim/machinefile"
)

// machineFlags is the command line of labench machine.
type machineFlags struct {
	types   []string
	sizes   string
	workers int
	each    time.Duration
}

func newMachineCommand(a *app) *cobra.Command {
	f := &machineFlags{}
	cmd := &cobra.Command{
		Use:   "machine FILE",
		Short: "Measure this machine, for labench plan",
		Long: `Measure this machine, and write what was measured to FILE for labench plan: how
long the tile operations take on one core alone and on all at once, out of the
cache and from memory, and what a task costs beside.`,
		Example: `  labench machine here.toml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage(errors.New("want one file"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runMachine(cmd.Context(), f, args[0])
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringSliceVar(&f.types, "type", []string{"f64"}, "element types: "+strings.Join(bench.Types(), ", "))
	fl.StringVar(&f.sizes, "nb", "", "tile sizes, as in 64,128,256 (default 32 to 512)")
	fl.IntVar(&f.workers, "workers", 0, "workers (default one per core)")
	fl.DurationVar(&f.each, "each", 150*time.Millisecond, "time for each program and tile size")
	return cmd
}

func (a *app) runMachine(ctx context.Context, f *machineFlags, file string) (err error) {
	var errs problems
	o := calibrate.Options{Types: f.types, Workers: f.workers, Each: f.each}
	for _, t := range f.types {
		if !slices.Contains(bench.Types(), t) {
			errs.note(&listError{"type", t, strings.Join(bench.Types(), ", ")})
		}
	}
	if f.sizes != "" {
		o.Sizes, err = parseInts("nb", f.sizes, nil)
		errs.note(err)
	}
	if f.workers < 0 || f.each <= 0 {
		errs.note(fmt.Errorf("--workers is %d and --each %v, want at least 0, and some time", f.workers, f.each))
	}
	errs.target("machine", file)
	if len(errs) > 0 {
		return usage(joinLine(errs))
	}
	line := newStatus(a.err)
	defer line.clear()
	o.Progress = func(done, total int) { line.set("%d/%d", done, total) }
	watch := quiet.Start()
	m, err := calibrate.Here(ctx, o)
	if err != nil {
		return err
	}
	line.clear()
	if l, ok := watch.Stop(); ok && l.Disturbs(m.Kinds[0].Cores) {
		a.warn(capital(l.String()) + " meanwhile, and what they took is in the times. Stop what else runs and measure again.")
		m.Source += ", " + l.String() + " meanwhile"
	}
	return writeWhole([]string{file}, func(to []io.Writer) error { return machinefile.Write(to[0], m) })
}
