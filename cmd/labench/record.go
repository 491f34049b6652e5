package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/exec/monitor"
	"github.com/tessera-la/tessera/exec/trace"
)

// recordFlags say what is to be seen of the tasks of the last timed run.
type recordFlags struct {
	trace, dot, monitor string
	report              bool
}

// register defines the flags on cmd.
func (f *recordFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	boolFlag(cmd, &f.report, "report", false, "say where the time of the last timed run went")
	fl.StringVar(&f.trace, "trace", "", "write the tasks of the last timed run to a file: "+strings.Join(traceEndings(), ", "))
	fl.StringVar(&f.dot, "dot", "", "write the graph of its tasks for graphviz: a file "+strings.Join(dotEndings(), " or "))
	fl.StringVar(&f.monitor, "monitor", "", "serve a page that shows the tasks while they run, as on 127.0.0.1:0")
}

// traceFormat is a file format of a trace.
type traceFormat struct {
	ending string
	opens  string // who reads it
	// also are the endings of the files beside the first that belong to it.
	also  []string
	write func(r *trace.Recording, to []io.Writer) error
}

// traceFormats returns what --trace can write.
func traceFormats() []traceFormat {
	return []traceFormat{
		{".prv", "Paraver", []string{".pcf", ".row"},
			func(r *trace.Recording, to []io.Writer) error { return r.WriteParaver(to[0], to[1], to[2]) }},
		{".json", "Perfetto (ui.perfetto.dev) and Chrome", nil,
			func(r *trace.Recording, to []io.Writer) error { return r.WriteChrome(to[0]) }},
	}
}

// traceEndings returns the endings of a trace's name, with who reads it.
func traceEndings() []string {
	var all []string
	for _, t := range traceFormats() {
		all = append(all, fmt.Sprintf("%s for %s", t.ending, t.opens))
	}
	return all
}

// dotEndings returns the endings of a graph's name.
func dotEndings() []string { return []string{".dot", ".gv"} }

// formatOf returns the format of a trace that the ending of its name asks for,
// without regard to case.
func formatOf(file string) (traceFormat, error) {
	ending := strings.ToLower(filepath.Ext(file))
	for _, t := range traceFormats() {
		if t.ending == ending {
			return t, nil
		}
	}
	return traceFormat{}, &listError{"trace", file, "a file " + strings.Join(traceEndings(), " or ")}
}

// paths returns the names of the files of a trace, the one given first.
func (t traceFormat) paths(file string) []string {
	all := []string{file}
	for _, ending := range t.also {
		all = append(all, strings.TrimSuffix(file, filepath.Ext(file))+ending)
	}
	return all
}

// check reports everything that is wrong with the flags, as far as that can be
// seen before the run.
func (f *recordFlags) check(asJSON bool) (errs []error) {
	target := func(flag string, paths ...string) {
		for _, path := range paths {
			if err := checkTarget(path); err != nil {
				errs = append(errs, fmt.Errorf("--%s %s: %w", flag, path, err))
				return // of the others it is true, too
			}
		}
	}
	if f.trace != "" {
		if t, err := formatOf(f.trace); err != nil {
			errs = append(errs, err)
		} else {
			target("trace", t.paths(f.trace)...)
		}
	}
	if f.dot != "" {
		if !slices.Contains(dotEndings(), strings.ToLower(filepath.Ext(f.dot))) {
			errs = append(errs, &listError{"dot", f.dot, "a file " + strings.Join(dotEndings(), " or ")})
		} else {
			target("dot", f.dot)
		}
	}
	if f.report && asJSON {
		errs = append(errs, errors.New("--report is text, and --json one object: give one"))
	}
	return errs
}

// recorded is the recording of the last timed run, and what is to be done with
// it.
type recorded struct {
	flags   *recordFlags
	monitor *monitor.Server  // nil if there is none
	last    *trace.Recording // nil if nothing was asked for
	took    time.Duration
}

// begin lets s record what the flags need, and starts the monitor. The caller
// must end what it returns. The error is a *monitor.AddressError or that of
// listening.
func (f *recordFlags) begin(a *app, s *bench.Spec) (*recorded, error) {
	r := &recorded{flags: f}
	keep := f.trace != "" || f.dot != "" || f.report
	if keep || f.monitor != "" {
		// Edges are for arrows, graphs and the critical path.
		s.Trace = &trace.Recorder{Dependencies: keep}
	}
	if keep {
		s.Recorded = func(run *trace.Recording, took time.Duration) { r.last, r.took = run, took }
	}
	if f.monitor == "" {
		return r, nil
	}
	var err error
	if r.monitor, err = monitor.Listen(f.monitor, s.Trace, monitor.Options{}); err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(a.err, "%s%s while this runs\n", label("monitor"), r.monitor.URL())
	return r, err
}

// end stops the monitor.
func (r *recorded) end() {
	if r.monitor != nil {
		r.monitor.Close()
	}
}

// noTasksError says that there is nothing to put into a file.
type noTasksError struct{ file string }

func (e *noTasksError) Error() string {
	return fmt.Sprintf("%s was not written: the problem went to one kernel on one core, without tasks", e.file)
}

// show prints the report and writes the files. The error is a *noTasksError if
// there is nothing to write.
func (r *recorded) show(a *app, quiet bool) error {
	if r.last == nil {
		return nil
	}
	tasks := tasksOf(r.last)
	if r.flags.report {
		if err := r.report(a, tasks); err != nil {
			return err
		}
	}
	write := func(name, what string, paths []string, write func(to []io.Writer) error) error {
		if tasks == 0 {
			return &noTasksError{paths[0]}
		}
		if err := writeWhole(paths, write); err != nil {
			return fmt.Errorf("%s was not written: %w", paths[0], err)
		}
		if quiet {
			return nil
		}
		return printWrapped(a.out, label(name), fmt.Sprintf("%s: %s, %s", strings.Join(paths, ", "), count(tasks, "task"), what))
	}
	if r.flags.trace != "" {
		t, err := formatOf(r.flags.trace)
		if err != nil {
			return err
		}
		err = write("trace", "for "+t.opens, t.paths(r.flags.trace), func(to []io.Writer) error { return t.write(r.last, to) })
		if err != nil {
			return err
		}
	}
	if r.flags.dot == "" {
		return nil
	}
	what := "draw it with dot -Tsvg"
	if tasks > trace.DefaultDOTTasks {
		what = "too many to be drawn one by one: a node for each op; " + what
	}
	return write("graph", what, []string{r.flags.dot}, func(to []io.Writer) error { return r.last.WriteDOT(to[0], 0) })
}

// report prints where the time went.
func (r *recorded) report(a *app, tasks int) error {
	if tasks == 0 {
		return printWrapped(a.out, label("report"), "the problem went to one kernel on one core: there were no tasks to report of; --nb cuts it into tiles")
	}
	span := r.last.Summary().Span
	err := printWrapped(a.out, label("last run"), fmt.Sprintf("%s: tasks for %s, and %s before and after them (matrices into tiles and back)",
		duration(r.took.Seconds()), duration(span.Seconds()), duration(max(r.took-span, 0).Seconds())))
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(a.out); err != nil {
		return err
	}
	return r.last.WriteReport(a.out, columns)
}

// tasksOf returns the number of attempts at tasks; kernels that were called
// without a task do not count.
func tasksOf(r *trace.Recording) (n int) {
	for i := range r.Events {
		if r.Events[i].Task != 0 {
			n++
		}
	}
	return n
}

// printWrapped writes text behind label as fprintWrapped does, and says if that
// failed.
func printWrapped(w io.Writer, label, text string) error {
	_, err := io.WriteString(w, wrapped(label, text))
	return err
}
