package tune

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/cmd/labench/internal/setup"
	"github.com/tessera-la/tessera/cmd/labench/internal/tuning"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/origin"
	"github.com/tessera-la/tessera/internal/quiet"
	"github.com/tessera-la/tessera/internal/report"
)

// problem is one problem to tune, and the workers to tune it for.
type problem struct {
	bench.Problem
	bench.Local
}

// tuned is the result of tuning one problem.
type tuned struct {
	spec     problem
	trial    *bench.Trial // closed; nil if the problem was not begun
	points   []tuning.Point
	standard tuning.Point // la's default
	winner   tuning.Point
	won      bool        // winner is reliable
	complete bool        // the search was completed
	load     *quiet.Load // load of other programs; nil if unknown
	err      error
}

// faster returns by what part the winner is faster than the default.
func (t *tuned) faster() float64 { return t.winner.Best()/t.standard.Best() - 1 }

// tune searches the best tile size of a problem within its share of the time. A measurement is cancelled at
// end, when all of the time is over. say is called with what is measured.
func (p *tunePlan) tune(ctx context.Context, s problem, end time.Time, share time.Duration, open trialFunc, say func(nb int)) (t tuned) {
	t.spec = s
	begin := time.Now()
	if share <= 0 {
		return t
	}
	ctx, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	defer func() {
		if errors.Is(t.err, context.DeadlineExceeded) {
			t.err = nil // no time left, which is no failure
		}
	}()
	trial, err := open(ctx, s.Problem, s.Local)
	if err != nil {
		t.err = err
		return t
	}
	defer func() {
		if err := trial.Close(); err != nil && t.err == nil {
			t.err = err
		}
	}()
	t.trial = trial
	if trial.Direct {
		t.complete = true
		return t
	}
	candidates := p.candidates
	if len(candidates) == 0 {
		candidates = tuning.Candidates(trial.N)
	}
	watch := quiet.Start()
	defer func() {
		if l, ok := watch.Stop(); ok {
			t.load = &l
		}
	}()
	search := tuning.NewSearch(candidates, trial.Default)
	t.complete, t.err = search.Run(ctx, share-time.Since(begin), func(ctx context.Context, nb int) (float64, time.Duration, error) {
		say(nb)
		start := time.Now()
		took, err := trial.Time(ctx, nb)
		return trial.Flops / took.Seconds(), time.Since(start), err
	})
	t.points, t.standard = search.Points(), search.Default()
	if winner, ok := search.Winner(); ok && search.Usable() {
		t.winner, t.won = winner, true
	}
	return t
}

// keep stores the winner in the profile, if there is one.
func (t *tuned) keep(p *setup.Profile) {
	if t.won {
		p.SetTileSize(t.trial.Key, t.trial.Target, t.trial.Workers, t.trial.N, t.winner.NB, t.winner.Best())
	}
}

// problemName names a problem.
func problemName(s problem) string {
	name := fmt.Sprintf("%s %s, n = %d", s.Op, s.Type, s.N)
	if s.Workers > 0 {
		name += ", " + report.Count(s.Workers, "worker")
	}
	return name
}

// tuneFailures returns an error that names the problems that could not be run, or nil.
func tuneFailures(all []tuned) error {
	var errs cli.Problems
	for _, t := range all {
		if t.err != nil {
			errs.Note(fmt.Errorf("%s: %w", problemName(t.spec), t.err))
		}
	}
	return cli.JoinLine(errs)
}

// tunedRow is one object of labench tune --json.
type tunedRow struct {
	origin.Origin
	Op       string      `json:"op"`
	Type     string      `json:"type"`
	N        int         `json:"n"`
	Workers  int         `json:"workers"`        // 0 if the problem was not begun
	NB       int         `json:"nb"`             // the fastest; 0 if unknown
	GFLOPS   float64     `json:"gflops"`         // the best rate with NB
	Default  int         `json:"default_nb"`     // la's choice without a profile
	ByGFLOPS float64     `json:"default_gflops"` // the best rate with Default
	Direct   bool        `json:"direct"`         // la uses one kernel, without tiles
	Complete bool        `json:"complete"`       // the search was completed in time
	Points   []pointRow  `json:"points"`
	Load     *quiet.Load `json:"load,omitempty"` // load of other programs
	Error    string      `json:"error,omitempty"`
}

// pointRow is one tile size of a tunedRow.
type pointRow struct {
	NB     int       `json:"nb"`
	Best   float64   `json:"gflops_best"`
	Median float64   `json:"gflops_median"`
	Count  int       `json:"measurements"`
	All    []float64 `json:"gflops"` // of each run, in order
}

// MarshalJSON writes t as a tunedRow.
func (t tuned) MarshalJSON() ([]byte, error) {
	row := tunedRow{Origin: origin.Here(), Load: t.load, Op: t.spec.Op, Type: t.spec.Type, N: t.spec.N, Complete: t.complete, Points: []pointRow{}}
	if t.trial != nil {
		row.Workers, row.Default, row.Direct = t.trial.Workers, t.trial.Default, t.trial.Direct
	}
	row.ByGFLOPS = t.standard.Best() / 1e9
	if t.won {
		row.NB, row.GFLOPS = t.winner.NB, t.winner.Best()/1e9
	}
	for _, q := range t.points {
		p := pointRow{q.NB, q.Best() / 1e9, q.Median() / 1e9, len(q.Rates), nil}
		for _, r := range q.Rates {
			p.All = append(p.All, r/1e9)
		}
		row.Points = append(row.Points, p)
	}
	if t.err != nil {
		row.Error = strings.Join(strings.Fields(t.err.Error()), " ")
	}
	return json.Marshal(row)
}

// tunePlan is the parsed command line.
type tunePlan struct {
	problems   []problem // the smallest first
	candidates []int     // empty: they depend on the order
	budget     time.Duration
}

// trialFunc is bench.NewTrial. Tests replace it.
type trialFunc func(context.Context, bench.Problem, bench.Local) (*bench.Trial, error)
