package loopapps

import (
	"context"
	"runtime"
	"slices"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/loop"
)

// Case is a way to execute a problem.
type Case struct {
	Plan loop.Plan
	Form Form // of a problem that is [Formed]
}

// Row is the result of a case.
type Row struct {
	Case
	Times []time.Duration // of the runs, ascending
	Loops []loop.Stats    // of the fastest run
	Sites Sites           // what Auto has learned
}

// Best returns the shortest time of the runs.
func (r *Row) Best() time.Duration { return r.Times[0] }

// Median returns the median of the runs.
func (r *Row) Median() time.Duration { return r.Times[len(r.Times)/2] }

// Imbalance returns the part of the workers' time in the loops of the fastest run that was lost because the
// workers did not end at the same time.
func (r *Row) Imbalance() float64 {
	var lost, all float64
	for i := range r.Loops {
		t := r.Loops[i].Took.Seconds()
		lost, all = lost+t*r.Loops[i].Imbalance(), all+t
	}
	if all == 0 {
		return 0
	}
	return lost / all
}

// Chunks returns the number of chunks in the fastest run, and how many of them were stolen.
func (r *Row) Chunks() (all, stolen int) {
	for i := range r.Loops {
		all, stolen = all+r.Loops[i].Chunks(), stolen+r.Loops[i].Steals()
	}
	return all, stolen
}

// Stolen returns, for each worker, how many chunks of the fastest run it took from each queue other than its
// own.
func (r *Row) Stolen() []map[int]int {
	var all []map[int]int
	for i := range r.Loops {
		for w := range r.Loops[i].Workers {
			if w == len(all) {
				all = append(all, map[int]int{})
			}
			for _, s := range r.Loops[i].Workers[w].Steals {
				all[w][s.Queue] += s.Chunks
			}
		}
	}
	return all
}

// Sweep executes a problem with each case in turn, and repeats that, so that a disturbance of the machine
// affects all cases alike. Each result is checked: the first one by other means, the others against it.
// progress is called before each run, and done with each row after its last run.
func Sweep(ctx context.Context, rt exec.Runtime, p Problem, cases []Case, repeat int, progress func(run, of int), done func(*Row)) ([]Row, error) {
	rows := make([]Row, len(cases))
	for turn := range repeat {
		for i := range rows {
			r := &rows[i]
			r.Case = cases[i]
			progress(turn*len(rows)+i, repeat*len(rows))
			loops, took, err := once(ctx, rt, p, r, turn == 0 && i == 0)
			if err != nil {
				return nil, err
			}
			if len(r.Times) == 0 || took < slices.Min(r.Times) {
				r.Loops = loops
			}
			r.Times = append(r.Times, took)
			if turn == repeat-1 {
				slices.Sort(r.Times)
				done(r)
			}
		}
	}
	return rows, nil
}

// once executes a problem once as the row's case says, and checks the result.
func once(ctx context.Context, rt exec.Runtime, p Problem, r *Row, first bool) ([]loop.Stats, time.Duration, error) {
	if f, ok := p.(Formed); ok {
		f.SetForm(r.Form)
	}
	runtime.GC() // no run pays for the garbage of others
	began := time.Now()
	loops, err := p.Run(ctx, rt, loop.Options{Plan: r.Plan}, &r.Sites)
	took := time.Since(began)
	if err == nil {
		err = p.Verify(first)
	}
	return loops, took, err
}

// Rival returns the row with the best median among those with the form of row i and a plan other than Auto. It
// returns nil if there is none.
func Rival(rows []Row, i int) (best *Row) {
	for k := range rows {
		r := &rows[k]
		if r.Form != rows[i].Form || r.Plan.Scheme == loop.Auto || best != nil && r.Median() >= best.Median() {
			continue
		}
		best = r
	}
	return best
}

// Pairs executes a problem in the ways of two rows, directly one after the other, for the given number of
// pairs. Each is first in every other pair. It returns the times of the first row relative to those of the
// second, ascending. The best of many rows in a sweep is partly the luckiest; in pairs it is not.
func Pairs(ctx context.Context, rt exec.Runtime, p Problem, a, b *Row, pairs int) (ratios []float64, err error) {
	for i := range pairs {
		var took [2]time.Duration
		for k := range took {
			which := (i + k) % 2
			if _, took[which], err = once(ctx, rt, p, []*Row{a, b}[which], false); err != nil {
				return nil, err
			}
		}
		ratios = append(ratios, took[0].Seconds()/took[1].Seconds())
	}
	slices.Sort(ratios)
	return ratios, nil
}
