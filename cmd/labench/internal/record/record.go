package record

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
	"github.com/tessera-la/tessera/exec/sim"
	"github.com/tessera-la/tessera/exec/sim/runfile"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/report"
)

// Flags say how to show the tasks of the last timed run.
type Flags struct {
	Trace, dot, Monitor string
	Recording           string // file of --record, for labench replay
	report              bool
}

// Register defines the flags on cmd.
func (f *Flags) Register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.BoolVar(&f.report, "report", false, "say where the time of the last timed run went")
	fl.StringVar(&f.Trace, "trace", "", "write the tasks of the last timed run to a file: "+Endings("trace", ", "))
	fl.StringVar(&f.dot, "dot", "", "write the graph of its tasks for graphviz: a file "+Endings("dot", " or "))
	fl.StringVar(&f.Recording, "record", "", "write its tasks and how long each took to a file, for labench replay")
	fl.StringVar(&f.Monitor, "monitor", "", "serve a page that shows the tasks while they run, as on 127.0.0.1:0")
}

// fileFormat is a file format for recorded tasks.
type fileFormat struct {
	flag   string // without dashes
	ending string
	opens  string // program that reads it, unless the flag's usage says so
	// also are the endings of further files that belong to the first.
	also  []string
	write func(r *trace.Recording, to []io.Writer) error
}

func fileFormats() []fileFormat {
	dot := func(r *trace.Recording, to []io.Writer) error { return r.WriteDOT(to[0], 0) }
	return []fileFormat{
		{"trace", ".prv", "Paraver", []string{".pcf", ".row"},
			func(r *trace.Recording, to []io.Writer) error { return r.WriteParaver(to[0], to[1], to[2]) }},
		{"trace", ".json", "Perfetto (ui.perfetto.dev) and Chrome", nil,
			func(r *trace.Recording, to []io.Writer) error { return r.WriteChrome(to[0]) }},
		{"dot", ".dot", "", nil, dot},
		{"dot", ".gv", "", nil, dot},
	}
}

// Endings lists the file name endings that a flag accepts, with the programs that read them.
func Endings(flag, between string) string {
	var all []string
	for _, t := range fileFormats() {
		switch {
		case t.flag == flag && t.opens != "":
			all = append(all, t.ending+" for "+t.opens)
		case t.flag == flag:
			all = append(all, t.ending)
		}
	}
	return strings.Join(all, between)
}

// toWrite is a set of files to write. The first has the name that the user gave.
type toWrite struct {
	fileFormat
	paths []string
}

// files returns the files that the flags ask for. The ending of the name, in upper or lower case, determines
// the format. The errors are *cli.ListErrors.
func (f *Flags) files() (all []toWrite, errs cli.Problems) {
	for _, given := range [][2]string{{"trace", f.Trace}, {"dot", f.dot}} {
		flag, file := given[0], given[1]
		if file == "" {
			continue
		}
		ending := filepath.Ext(file)
		i := slices.IndexFunc(fileFormats(), func(t fileFormat) bool { return t.flag == flag && t.ending == strings.ToLower(ending) })
		if i < 0 {
			errs.Note(&cli.ListError{Flag: flag, Element: file, Allowed: "a file " + Endings(flag, " or ")})
			continue
		}
		w := toWrite{fileFormats()[i], []string{file}}
		for _, also := range w.also {
			w.paths = append(w.paths, strings.TrimSuffix(file, ending)+also)
		}
		all = append(all, w)
	}
	return all, errs
}

// Write writes the requested files, except that of labench replay.
func (f *Flags) Write(r *trace.Recording) error {
	files, _ := f.files()
	for _, w := range files {
		if err := cli.WriteWhole(w.paths, func(to []io.Writer) error { return w.write(r, to) }); err != nil {
			return err
		}
	}
	return nil
}

// Check returns everything that is wrong with the flags, as far as it can be known before the run.
func (f *Flags) Check(asJSON bool) cli.Problems {
	files, errs := f.files()
	for _, w := range files {
		for _, path := range w.paths {
			if errs.Target(w.flag, path) {
				break // the others have the same problem
			}
		}
	}
	errs.Target("record", f.Recording)
	if f.report && asJSON {
		errs.Note(errors.New("--report is text, and --json one object: give one"))
	}
	return errs
}

// Recorded is the recording of the last timed run, and how to show it.
type Recorded struct {
	flags   *Flags
	monitor *monitor.Server  // nil if there is none
	last    *trace.Recording // nil if not requested
	took    time.Duration
}

// Begin makes s record what the flags need, and starts the monitor. If cluster is not nil, the monitor shows
// it. The caller must call End on the result. The error is a *monitor.AddressError or an error of listening.
func (f *Flags) Begin(a *cli.App, s *bench.Spec, cluster func() trace.Cluster) (*Recorded, error) {
	r := &Recorded{flags: f}
	keep := f.Trace != "" || f.dot != "" || f.report || f.Recording != ""
	if keep || f.Monitor != "" {
		// Dependencies are needed for arrows, graphs and the critical path.
		s.Trace = &trace.Recorder{Dependencies: keep, Graphs: f.Recording != ""}
	}
	if keep {
		s.Recorded = func(run *trace.Recording, took time.Duration) { r.last, r.took = run, took }
	}
	if f.Monitor == "" {
		return r, nil
	}
	var err error
	if r.monitor, err = monitor.Listen(f.Monitor, s.Trace, monitor.Options{Cluster: cluster}); err != nil {
		return nil, err
	}
	title := titleOf(s.WithDefaults())
	s.Stage = func(x bench.Stage) {
		r.monitor.Describe(monitor.Activity{Title: title, Phase: x.Name, Run: x.Run, Runs: x.Runs, Flops: x.Flops})
	}
	s.Within = r.monitor.Progress
	_, err = fmt.Fprintf(a.Err, "%s%s while this runs\n", report.Label("monitor"), r.monitor.URL())
	return r, err
}

// titleOf describes the computation of a Spec.
func titleOf(s bench.Spec) string {
	what := filepath.Base(s.Input)
	if s.Input == "" {
		what = bench.Result{Op: s.Op, M: s.M, N: s.N, K: s.K, NRHS: s.NRHS}.Shape()
	}
	return fmt.Sprintf("%s %s, %s", s.Op, s.Type, what)
}

// End stops the monitor.
func (r *Recorded) End() {
	if r.monitor != nil {
		r.monitor.Close()
	}
}

// NoTasksError says that a file was requested, but no task was recorded.
type NoTasksError struct{ file string }

func (e *NoTasksError) Error() string {
	return fmt.Sprintf("%s was not written: the problem went to one kernel on one core, without tasks", e.file)
}

// Show prints the report and writes the files. The error is a *NoTasksError if there are no tasks.
func (r *Recorded) Show(a *cli.App, quiet bool) error {
	if r.last == nil {
		return nil
	}
	tasks := TasksOf(r.last)
	if r.flags.report {
		if err := r.report(a, tasks); err != nil {
			return err
		}
	}
	files, _ := r.flags.files()
	for _, w := range files {
		name, what := w.flag, "for "+w.opens
		if w.flag == "dot" {
			name, what = "graph", "draw it with dot -Tsvg"
			if tasks > trace.DefaultDOTTasks {
				what = "too many to be drawn one by one: a node for each op; " + what
			}
		}
		if tasks == 0 {
			return &NoTasksError{w.paths[0]}
		}
		if err := cli.WriteWhole(w.paths, func(to []io.Writer) error { return w.write(r.last, to) }); err != nil {
			return fmt.Errorf("%s was not written: %w", w.paths[0], err)
		}
		if quiet {
			continue
		}
		if err := report.FprintWrapped(a.Out, report.Label(name), fmt.Sprintf("%s: %s, %s", strings.Join(w.paths, ", "), report.Count(tasks, "task"), what)); err != nil {
			return err
		}
	}
	return nil
}

// Keep writes the file for labench replay. The error is a *NoTasksError if there are no tasks.
func (r *Recorded) Keep(a *cli.App, quiet bool, s bench.Spec, x *bench.Result) error {
	file := r.flags.Recording
	if r.last == nil || file == "" {
		return nil
	}
	if TasksOf(r.last) == 0 {
		return &NoTasksError{file}
	}
	p, err := sim.NewProgram(r.last)
	if err == nil {
		run := &runfile.Run{Title: fmt.Sprintf("%s, nb = %d", titleOf(s), x.NB), Machine: x.Machine, Commit: x.Commit,
			Sched: x.Sched, Workers: x.Workers, Seconds: r.took.Seconds(), Program: p}
		err = cli.WriteWhole([]string{file}, func(to []io.Writer) error { return runfile.Write(to[0], run) })
	}
	if err != nil {
		return fmt.Errorf("%s was not written: %w", file, err)
	}
	if quiet {
		return nil
	}
	return report.FprintWrapped(a.Out, report.Label("record"), fmt.Sprintf("%s: %s, for labench replay", file, report.Count(TasksOf(r.last), "task")))
}

// report prints how the time was spent.
func (r *Recorded) report(a *cli.App, tasks int) error {
	if tasks == 0 {
		return report.FprintWrapped(a.Out, report.Label("report"), "the problem went to one kernel on one core: there were no tasks to report of; --nb cuts it into tiles")
	}
	span := r.last.Summary().Span
	err := report.FprintWrapped(a.Out, report.Label("last run"), fmt.Sprintf("%s: tasks for %s, and %s before and after them (matrices into tiles and back)",
		report.Duration(r.took.Seconds()), report.Duration(span.Seconds()), report.Duration(max(r.took-span, 0).Seconds())))
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(a.Out); err != nil {
		return err
	}
	return r.last.WriteReport(a.Out, report.Columns)
}

// TasksOf returns the number of executions of tasks. Kernels that were called outside of tasks do not count.
func TasksOf(r *trace.Recording) (n int) {
	for i := range r.Events {
		if r.Events[i].Task != 0 {
			n++
		}
	}
	return n
}
