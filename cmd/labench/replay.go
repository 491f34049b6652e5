package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/sim"
	"github.com/tessera-la/tessera/exec/sim/runfile"
)

// replayFlags is the command line of labench replay.
type replayFlags struct {
	file            string
	sched           []string
	workers, speed  string
	json            bool
	schedGiven, all bool // --sched is there; no list is
}

func newReplayCommand(a *app) *cobra.Command {
	f := &replayFlags{}
	cmd := &cobra.Command{
		Use:   "replay FILE",
		Short: "Say what a recorded run would have taken otherwise",
		Long: `Say what a recorded run would have taken under other policies, or with more
workers, or faster ones.

FILE is what --record of an operation has written: the graph of the tasks, and
how long each of them took. They are executed once more in virtual time, by the
same scheduler. The first line says how far that is to be trusted: what comes
out for the run as it was recorded, beside what was measured. Tasks take as
long as they did: that more workers share memory and caches is not foreseen.

Every combination of what is listed is a line of a table.`,
		Example: `  labench cholesky -n 4096 --record run.json
  labench replay run.json
  labench replay run.json --sched fifo --sched steal --workers 1,2,4,8
  labench replay run.json --workers 1:64:x2 --speed 1,2`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage(errors.New("want one file, which --record of an operation has written"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			f.file = args[0]
			given := cmd.Flags().Changed
			f.schedGiven = given("sched")
			f.all = !f.schedGiven && !given("workers") && !given("speed")
			return a.replay(cmd.Context(), f)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringSliceVar(&f.sched, "sched", nil, "scheduling policies: all, "+words(dispatch.Kinds())+"\n(default the recorded one; all if nothing is listed)")
	fl.StringVar(&f.workers, "workers", "", "numbers of workers (default the recorded one)")
	fl.StringVar(&f.speed, "speed", "1", "how many times as fast tasks are, as in 1,1.5,2")
	fl.BoolVar(&f.json, "json", false, "print one JSON object per combination, that of the record first")
	complete(cmd, "sched", append(namesOf(dispatch.Kinds()...), "all"))
	return cmd
}

// replayed is what a run would have taken: an object of labench replay --json.
type replayed struct {
	Title    string  `json:"title"`
	Sched    string  `json:"sched"`
	Workers  int     `json:"workers"`
	Speed    float64 `json:"speed"`
	Tasks    int     `json:"tasks"`
	Seconds  float64 `json:"seconds"`
	Measured float64 `json:"seconds_measured"` // of the recorded run, from the first task to the last
	Ratio    float64 `json:"ratio"`            // Seconds to Measured
	Idle     float64 `json:"idle"`             // part of the workers' time
	Path     float64 `json:"seconds_path"`     // of the critical path
	Steps    int     `json:"path_tasks"`
}

// otherwise is one combination of what labench replay varies.
type otherwise struct {
	sched   dispatch.Kind
	workers int
	speed   float64
}

// lists are what the command line lists. Nil is what was recorded.
type lists struct {
	sched   []dispatch.Kind
	workers []int
	speed   []float64
}

// parse reads the lists of the command line.
func (f *replayFlags) parse() (l lists, err error) {
	var errs problems
	known := append([]string{"all"}, namesOf(dispatch.Kinds()...)...)
	if f.schedGiven && len(f.sched) == 0 {
		errs.note(errors.New("--sched is empty: give it a value, or leave it out"))
	}
	for _, s := range f.sched {
		kind, err := dispatch.Parse(s)
		switch {
		case s == "all":
			l.sched = dispatch.Kinds()
		case err != nil:
			errs.note(&listError{"sched", s, strings.Join(known, ", ")})
		case !slices.Contains(l.sched, kind):
			l.sched = append(l.sched, kind)
		}
	}
	if f.all {
		l.sched = dispatch.Kinds()
	}
	if f.workers != "" {
		l.workers, err = parseInts("workers", f.workers, nil)
		errs.note(err)
		if len(l.workers) > 0 && slices.Max(l.workers) > runfile.MostWorkers {
			errs.note(&listError{"workers", strconv.Itoa(slices.Max(l.workers)), fmt.Sprintf("at most %d", runfile.MostWorkers)})
		}
	}
	for word := range strings.SplitSeq(f.speed, ",") {
		x, err := strconv.ParseFloat(strings.TrimSpace(word), 64)
		switch {
		case err != nil || !(x >= 0.001 && x <= 1000):
			errs.note(&listError{"speed", word, "numbers from 0.001 to 1000, separated by commas"})
		case !slices.Contains(l.speed, x):
			l.speed = append(l.speed, x)
		}
	}
	return l, joinLine(errs)
}

// replay prints what a recorded run would have taken.
func (a *app) replay(ctx context.Context, f *replayFlags) error {
	l, err := f.parse()
	if err != nil {
		return usage(err)
	}
	if points := max(len(l.sched), 1) * max(len(l.workers), 1) * len(l.speed); points > maxPoints {
		return usage(fmt.Errorf("%d combinations are too many; at most %d can be replayed at once", points, maxPoints))
	}
	r, err := runfile.Read(f.file)
	if err != nil {
		return err
	}
	kind, err := dispatch.Parse(r.Sched)
	if err != nil {
		return err
	}
	if l.sched == nil {
		l.sched = []dispatch.Kind{kind}
	}
	if l.workers == nil {
		l.workers = []int{r.Workers}
	}
	measured := r.Program.Measured()
	path, steps, err := r.Program.CriticalPath(ctx)
	if err != nil {
		return err
	}
	once := func(o otherwise) (x replayed, err error) {
		p, _, err := r.Program.Replay(ctx, sim.Options{Machine: r.Program.Machine(o.workers), Policy: o.sched}, o.speed)
		if err != nil {
			return x, err
		}
		x = replayed{Title: r.Title, Sched: o.sched.String(), Workers: o.workers, Speed: o.speed, Tasks: p.Tasks,
			Seconds: p.Seconds, Measured: measured.Seconds, Path: path / o.speed, Steps: steps}
		if x.Measured > 0 {
			x.Ratio = x.Seconds / x.Measured
		}
		if x.Seconds > 0 {
			x.Idle = max(1-p.Sum().Busy/(x.Seconds*float64(o.workers)), 0)
		}
		return x, nil
	}
	asIs, err := once(otherwise{kind, r.Workers, 1})
	if err != nil {
		return err
	}
	if f.json {
		err = a.object(asIs)
	} else {
		_, err = io.WriteString(a.out, replayHead(newPaint(a.out), r, &measured, &asIs))
	}
	for _, s := range l.sched {
		for _, w := range l.workers {
			for _, speed := range l.speed {
				if err != nil {
					return err
				}
				var x replayed
				if x, err = once(otherwise{s, w, speed}); err != nil {
					return err
				}
				if f.json {
					err = a.object(x)
				} else {
					_, err = io.WriteString(a.out, replayRow(&x))
				}
			}
		}
	}
	return err
}

// replayHead says how far what follows can be trusted, and of what it is; with the head of the
// table.
func replayHead(p paint, r *runfile.Run, m *sim.Measured, asIs *replayed) string {
	var b strings.Builder
	off := "as much"
	if d := 100 * (asIs.Ratio - 1); d <= -0.05 {
		off = fmt.Sprintf("%.1f %% less", -d)
	} else if d >= 0.05 {
		off = fmt.Sprintf("%.1f %% more", d)
	}
	say := func(name, format string, args ...any) {
		b.WriteString(wrapped(label(name), fmt.Sprintf(format, args...)))
	}
	say("as it was", "predicted %s, measured %s: %s", brief(inSeconds(asIs.Seconds)), brief(inSeconds(asIs.Measured)), p.bold(off))
	say("recorded", "%s, %s", r.Title, count(m.Tasks, "task"))
	say("", "%s, %s, on %s", count(r.Workers, "worker"), r.Sched, r.Machine)
	say("", "%s in all; tasks from the first submission to the last end took %s, and workers were idle for %.0f %% of that",
		brief(inSeconds(r.Seconds)), brief(inSeconds(m.Seconds)), 100*max(1-m.Busy/max(m.Seconds*float64(r.Workers), 1e-300), 0))
	say("path", "%s that follow one another: no number of workers is faster", count(asIs.Steps, "task"))
	b.WriteByte('\n')
	b.WriteString(p.faint("sched      workers  speed       time   ratio   idle       path\n"))
	return b.String()
}

func replayRow(x *replayed) string {
	return fmt.Sprintf("%-9s%9d%7g  %9s%8.3f%6.0f%%  %9s\n", clip(x.Sched, 9), x.Workers, x.Speed, brief(inSeconds(x.Seconds)), x.Ratio, 100*x.Idle, brief(inSeconds(x.Path)))
}
