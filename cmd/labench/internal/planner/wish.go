package planner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tessera-la/tessera/cmd/labench/internal/sweep"

	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/cmd/labench/internal/record"
	"github.com/tessera-la/tessera/cmd/labench/internal/setup"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/sim"
	"github.com/tessera-la/tessera/exec/sim/machinefile"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/plotting"
)

// forecastFlags are the flags of labench plan.
type forecastFlags struct {
	op, machine, typ                      string
	sizes, nb, sched, nodes, grid, worker string
	lose                                  []string
	choices                               map[string]*string
	record                                record.Flags
	cluster                               clusterFlags // nodes, instead of a machine file
	given                                 func(flag string) bool
	csv, plot                             string
	format                                plotting.Format // of the plot, if there is one
	best, json, values                    bool
}

// wish is one combination of the variables of labench plan. Zero means la's choice, or the value in the machine
// file.
type wish struct {
	n, nb, nodes, rows, workers int
	sched                       string
}

func (w wish) String() string {
	text := fmt.Sprintf("n=%d", w.n)
	for _, x := range []struct {
		name  string
		value int
	}{{"nb", w.nb}, {"nodes", w.nodes}, {"grid", w.rows}, {"workers", w.workers}} {
		if x.value > 0 {
			text += fmt.Sprintf(" %s=%d", x.name, x.value)
		}
	}
	if w.sched != "" {
		text += " " + w.sched
	}
	return text
}

// wishes parses the lists on the command line, for machine m.
func (f *forecastFlags) wishes(m *sim.Machine) (all []wish, err error) {
	var errs cli.Problems
	list := func(flag, text string, words map[string]int) []int {
		if text == "" {
			return []int{0}
		}
		x, err := cli.ParseInts(flag, text, words)
		errs.Note(err)
		return x
	}
	auto := map[string]int{"auto": 0}
	sizes, nb, nodes := list("n", f.sizes, nil), list("nb", f.nb, auto), list("nodes", f.nodes, nil)
	grid, workers := list("grid", f.grid, auto), list("workers", f.worker, nil)
	sched, err := policies(f.sched, m.Count() > 1 || f.nodes != "")
	errs.Note(err)
	if errs != nil {
		return nil, cli.JoinLine(errs)
	}
	return sweep.Grid("planned", func(i []int) wish {
		return wish{n: sizes[i[0]], sched: sched[i[1]], nb: nb[i[2]], workers: workers[i[3]], nodes: nodes[i[4]], rows: grid[i[5]]}
	}, len(sizes), len(sched), len(nb), len(workers), len(nodes), len(grid))
}

// policies returns the policies in a list; "" is the default.
func policies(list string, several bool) (sched []string, _ error) {
	if list == "" {
		return []string{""}, nil
	}
	known := append([]string{"owner"}, cli.NamesOf(dispatch.Kinds()...)...)
	for s := range strings.SplitSeq(list, ",") {
		s = strings.ToLower(strings.TrimSpace(s))
		named := []string{s}
		switch {
		case s == "all" && several:
			named = known
		case s == "all":
			named = known[1:]
		case !slices.Contains(known, s):
			return nil, &cli.ListError{Flag: "sched", Element: s, Allowed: "all, " + strings.Join(known, ", ")}
		}
		for _, s := range named {
			if !slices.Contains(sched, s) {
				sched = append(sched, s)
			}
		}
	}
	return sched, nil
}

// failures parses --lose.
func (f *forecastFlags) failures() (all []sim.Failure, err error) {
	var errs cli.Problems
	for _, text := range f.lose {
		node, when, _ := strings.Cut(text, "@")
		at, back, returns := strings.Cut(when, "-")
		x := sim.Failure{}
		n, err := strconv.Atoi(node)
		begin, err1 := time.ParseDuration(at)
		end := time.Duration(0)
		if returns {
			var err2 error
			end, err2 = time.ParseDuration(back)
			err1 = errors.Join(err1, err2)
		}
		if err != nil || err1 != nil {
			errs.Note(fmt.Errorf("--lose %s, want the number of a node and a time, as 3@0.5s or 3@0.5s-2s", text))
			continue
		}
		if n < 0 || begin < 0 || returns && end <= begin {
			errs.Note(fmt.Errorf("--lose %s, want a node from 0 that is lost at 0s or later, and comes back after that", text))
			continue
		}
		x.Node, x.At, x.Back = n, begin.Seconds(), end.Seconds()
		all = append(all, x)
	}
	return all, cli.JoinLine(errs)
}

// open returns the machine that the flags name.
func (f *forecastFlags) open(ctx context.Context, a *cli.App) (*sim.Machine, error) {
	if f.machine == "" {
		return f.cluster.machine(ctx, a, f.typ)
	}
	m, err := machinefile.Open(f.machine)
	if errors.Is(err, fs.ErrNotExist) {
		err = cli.Usage(&cli.UnknownError{What: "machine or file", Word: f.machine, Known: machinefile.Names()})
	}
	return m, err
}

// problem returns the problem without the variables.
func (f *forecastFlags) problem() (bench.Problem, error) {
	s := bench.Problem{Op: f.op, Type: f.typ, Values: f.values}
	return s, cli.JoinLine(setup.ApplyChoices(&s, f.choices))
}

// options returns the machine and policies of a combination.
func (w wish) options(m *sim.Machine) (sim.Options, error) {
	x := *m
	x.Kinds, x.Nodes = slices.Clone(m.Kinds), slices.Clone(m.Nodes)
	if w.workers > 0 {
		for i := range x.Kinds {
			x.Kinds[i].Workers = w.workers
		}
	}
	if w.nodes > 0 {
		x.Take(w.nodes)
	}
	o := sim.Options{Machine: &x, Policy: x.Scheduling(dispatch.Priority), Nodes: cluster.Options{Owner: true}}
	if w.sched == "" || w.sched == "owner" {
		if w.sched != "" && x.Count() == 1 {
			return o, errors.New("--sched owner is for several nodes")
		}
		return o, nil
	}
	kind, err := dispatch.Parse(w.sched)
	if err != nil {
		return o, err
	}
	if x.Count() == 1 {
		o.Policy = kind
	} else {
		o.Nodes = cluster.Options{Policy: kind, ByPriority: kind == dispatch.Priority}
	}
	return o, nil
}

// predict predicts a combination.
func (w wish) predict(ctx context.Context, base bench.Problem, m *sim.Machine, record bool) (Prediction, error) {
	o, err := w.options(m)
	if err != nil {
		return Prediction{}, err
	}
	o.Record = record
	base.N, base.NB = w.n, w.nb
	return Predict(ctx, base, w.rows, o)
}

// Planned is Predict of p on so many nodes of m that compute, with so many workers each, or the machine's for 0. sched is
// a policy, or "owner".
func Planned(ctx context.Context, p bench.Problem, m *sim.Machine, nodes, workers int, sched string) (Prediction, error) {
	return wish{n: p.N, nb: p.NB, nodes: nodes, workers: workers, sched: sched}.predict(ctx, p, m, false)
}

// trial is a combination and its prediction.
type trial struct {
	w wish
	x Prediction
}
