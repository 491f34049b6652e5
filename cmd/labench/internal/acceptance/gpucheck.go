package acceptance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/tessera-la/tessera/cmd/labench/internal/gpucheck"
	"github.com/tessera-la/tessera/cmd/labench/internal/setup"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/quiet"
	"github.com/tessera-la/tessera/internal/report"
	"github.com/tessera-la/tessera/internal/topo"
	"github.com/tessera-la/tessera/kernels/cuda"
)

// gpuCheckFlags are the flags of labench gpu-check.
type gpuCheckFlags struct {
	opt  gpucheck.Options
	json string        // file for the report
	late time.Duration // time beyond the budget after which a hanging point is given up
}

// NewCommand returns the command labench gpu-check.
func NewCommand(a *cli.App) *cobra.Command {
	f := gpuCheckFlags{late: 25 * time.Second}
	cmd := &cobra.Command{
		Use:   "gpu-check",
		Short: "Verify and measure everything that runs on a GPU, in eight minutes",
		Long: "Measure copies, tile kernels, products and factorizations beside cuBLAS and\n" +
			"cuSOLVER, and verify their results. docs/gpu.md says what the report means.",
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runGPUCheck(cmd.Context(), a, &f, gpucheck.Run) },
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.opt.Device, "devices", "auto", "the device: auto for the first one, cuda1, or sim for a simulated one, with small sizes")
	fl.DurationVar(&f.opt.Budget, "budget", gpucheck.DefaultBudget, "what has not begun by then is left out")
	fl.BoolVar(&f.opt.Small, "small", false, "small sizes only, to see that everything works")
	fl.IntVar(&f.opt.Workers, "workers", 0, "number of workers (default one per core)")
	fl.StringVar(&f.json, "json", "", "file for the report as a JSON document, written anew after each point")
	return cmd
}

// checkFunc is gpucheck.Run. Tests replace it.
type checkFunc func(ctx context.Context, opt gpucheck.Options) (gpucheck.Report, error)

// runGPUCheck checks a device and writes the report. It returns an error if anything is wrong.
func runGPUCheck(ctx context.Context, a *cli.App, f *gpuCheckFlags, run checkFunc) error {
	if err := f.parse(); err != nil {
		return cli.Usage(err)
	}
	bar := report.NewProgress(a.Err, "gpu-check")
	type outcome struct {
		report gpucheck.Report
		err    error
		saving error // first error of writing the file
	}
	watch := quiet.Start()
	over := make(chan outcome, 1)
	var latest atomic.Pointer[gpucheck.Report]
	opt := f.opt
	opt.Machine, opt.Build = report.MachineLine(topo.Detect()), cli.VersionLine(debug.ReadBuildInfo())
	go func() {
		var saving error
		opt.Saved = func(r gpucheck.Report) {
			if err := f.write(r); saving == nil {
				saving = err
			}
			bar.Update(int(r.Seconds), int(r.Budget))
			latest.Store(&r)
		}
		r, err := run(ctx, opt)
		over <- outcome{r, err, saving}
	}()
	hung := time.NewTimer(opt.Budget + f.late)
	defer hung.Stop()
	var end outcome
	ended := true
	select {
	case end = <-over:
		ended = !errors.Is(end.err, context.Canceled)
	case <-hung.C:
		// Calls into a driver that hangs cannot be stopped, so the process ends.
		ended = false
	}
	if r := latest.Load(); !ended && r != nil {
		end.report = *r // includes the point that was running
	}
	bar.End()
	load, watched := watch.Stop()
	if end.report.Device.Name == "" {
		if end.err == nil {
			end.err = errors.New("the device could not be opened in time")
		}
		return end.err
	}
	if _, err := io.WriteString(a.Out, gpuReport(&end.report, report.NewPaint(a.Out))); err != nil {
		return err
	}
	if watched && load.Disturbs(cmp.Or(f.opt.Workers, exec.DefaultWorkers())) {
		report.FprintWrapped(a.Out, report.Label("care"), report.Capital(load.String())+" meanwhile: what is said of speeds is not to be trusted.")
	}
	switch wrong := end.report.Wrong(); {
	case end.err != nil:
		return end.err
	case end.saving != nil:
		return end.saving
	case wrong != "":
		return fmt.Errorf("gpu-check: %s", wrong)
	}
	return nil
}

// parse checks the flags. The error joins everything that is wrong with them.
func (f *gpuCheckFlags) parse() error {
	var errs cli.Problems
	if err := setup.RequestDevices(f.opt.Device); err != nil {
		errs.Note(err)
	} else if r, err := cuda.ParseRequest(f.opt.Device); err == nil && !r.Auto && r.Simulated+len(r.Ordinals) != 1 {
		errs.Note(&cli.ListError{Flag: "devices", Element: f.opt.Device, Allowed: "one device: auto, sim, or a real one by number, as in cuda0"})
	}
	if f.opt.Budget < time.Second {
		errs.Note(fmt.Errorf("--budget is %v, want at least 1s", f.opt.Budget))
	}
	if f.opt.Workers < 0 || f.opt.Workers > 1<<14 {
		errs.Note(fmt.Errorf("--workers is %d, want 1 to %d, or 0 for one per core", f.opt.Workers, 1<<14))
	}
	errs.Target("json", f.json)
	return errors.Join(errs...)
}

// write writes the report to the file that --json names, if any.
func (f *gpuCheckFlags) write(r gpucheck.Report) error {
	if f.json == "" {
		return nil
	}
	return cli.WriteWhole([]string{f.json}, func(to []io.Writer) error { return cli.WriteDocument(to[0], r) })
}
