package nested

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/tessera-la/tessera/examples/internal/study"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

var (
	// fits: IN points, IN machine, OUT machine.
	fits = study.Op("fit", func(c *versions.Call, p *combination, args []row) error {
		defer p.wait()
		return fit(c.Ctx, p, args[0], args[1], args[2])
	})
	// joins: IN points, IN machine, IN machine, OUT machine.
	joins = study.Op("join", func(c *versions.Call, p *combination, args []row) error {
		defer p.wait()
		return join(c.Ctx, p, args[0], args[1], args[2], args[3])
	})
	// tests: IN points, IN machine, OUT score.
	tests = study.Op("test", func(_ *versions.Call, p *combination, args []row) error {
		test(p, args[0], args[1], args[2])
		return nil
	})
	// searches: IN points, OUT score. Its children are the tasks of one combination and one fold. They are too
	// short to be sent to other nodes.
	searches = study.Op("search", func(c *versions.Call, p *combination, args []row) error {
		children, err := exec.NestedHere(c)
		if err != nil {
			return err
		}
		return cascade(children, *p, study.Datum(args[0]), study.Datum(args[1]))
	})
)

// converged reports whether a round improved the machine only slightly.
func converged(before, m row) bool { return m[1]-before[1] <= 1e-3*before[1] }

// cascade submits the training of a machine, and its test. Each round trains a machine for each block, with the
// support vectors of the round before, and merges them in pairs until one is left. It waits for that one, which
// decides whether there is another round.
func cascade(job exec.Job, p combination, points, score *graph.Datum) (err error) {
	machine := func() *graph.Datum { return study.Datum(make(row, 2+2*len(points.Value.(*study.Row).X)/width)) }
	submit := func(op *versions.Op, p combination, operands ...graph.Operand) {
		if err == nil {
			_, err = job.Submit(&graph.Spec{Op: op, Params: &p, Operands: operands})
		}
	}
	have := machine()
	for range p.Rounds {
		layer := make([]*graph.Datum, p.Blocks)
		for b := range layer {
			p.Block, layer[b] = int64(b), machine()
			submit(fits, p, study.In(points), study.In(have), study.Out(layer[b]))
		}
		for len(layer) > 1 {
			next := layer[:0:0]
			for i := 0; i+1 < len(layer); i += 2 {
				m := machine()
				submit(joins, p, study.In(points), study.In(layer[i]), study.In(layer[i+1]), study.Out(m))
				next = append(next, m)
			}
			if len(layer)%2 == 1 {
				next = append(next, layer[len(layer)-1])
			}
			layer = next
		}
		before := have.Value.(*study.Row).X
		if have = layer[0]; err == nil {
			err = job.WaitOn(have)
		}
		if err != nil || converged(before, have.Value.(*study.Row).X) {
			break
		}
	}
	submit(tests, p, study.In(points), study.In(have), study.Out(score))
	return err
}

// combinations returns the combinations of several values of γ and of C, from 0.1 to 0.5, with all folds.
func (o *options) combinations() (all []combination) {
	value := func(i int) float64 { return 0.1 + 0.4*float64(i)/float64(max(o.values-1, 1)) }
	for i := range o.values {
		for j := range o.values {
			for f := range folds {
				all = append(all, combination{Gamma: value(i), C: value(j), Fold: int64(f), Blocks: int64(o.blocks), Rounds: int64(o.rounds), Unit: int64(o.unit)})
			}
		}
	}
	return all
}

// alone computes the score of a combination with plain loops.
func alone(points row, p combination) (float64, error) {
	ctx, size := context.Background(), 2+2*len(points)/width
	have, score := make(row, size), make(row, 1)
	for range p.Rounds {
		layer := make([]row, p.Blocks)
		for b := range layer {
			p.Block, layer[b] = int64(b), make(row, size)
			if err := fit(ctx, &p, points, have, layer[b]); err != nil {
				return 0, err
			}
		}
		for len(layer) > 1 {
			var next []row
			for i := 0; i+1 < len(layer); i += 2 {
				m := make(row, size)
				if err := join(ctx, &p, points, layer[i], layer[i+1], m); err != nil {
					return 0, err
				}
				next = append(next, m)
			}
			layer = append(next, layer[len(layer)/2*2:]...)
		}
		before := have
		if have = layer[0]; converged(before, have) {
			break
		}
	}
	test(&p, points, have, score)
	return score[0], nil
}

// grid returns the ways to search for the best combination.
func (o *options) grid() ([]study.Way, error) {
	points, all := newFlowers(o.samples, 3), o.combinations()
	want := make(row, len(all))
	for i, p := range all {
		var err error
		if want[i], err = alone(points, p); err != nil {
			return nil, err
		}
	}
	best := slices.Max(want)
	at := all[slices.Index(want, best)]
	fmt.Printf("grid search: %d machines for %d points, the best at γ = %.2f and C = %.2f with %.0f %% right of a fold\n", len(all), o.samples, at.Gamma, at.C, 100*best)
	if best < 0.9 {
		return nil, errors.New("the machines have learned nothing")
	}
	var got row
	check := study.Same("other scores", &got, want)
	submit := func(each func(exec.Job, combination, *graph.Datum, *graph.Datum) error) func(exec.Job) error {
		return func(job exec.Job) error {
			got = make(row, len(all))
			in := study.Datum(points)
			for i, p := range all {
				if err := each(job, p, in, study.Datum(got[i:i+1])); err != nil {
					return err
				}
			}
			return nil
		}
	}
	// Each cascade then has its own goroutine, so the program does not wait for one cascade at a time.
	atOnce := func(job exec.Job) error {
		var cascades sync.WaitGroup
		failed := make(chan error, len(all))
		err := submit(func(job exec.Job, p combination, points, score *graph.Datum) error {
			cascades.Go(func() { failed <- cascade(job, p, points, score) })
			return nil
		})(job)
		cascades.Wait()
		close(failed)
		for e := range failed {
			err = errors.Join(err, e)
		}
		return err
	}
	return []study.Way{
		{Name: "flat", Nodes: o.nodes(false, fits, joins, tests, searches), Submit: submit(cascade), Check: check},
		{Name: "flat, all at once", Nodes: o.nodes(false, fits, joins, tests, searches), Submit: atOnce, Check: check},
		{Name: "nested", Nodes: o.nodes(false, fits, joins, tests, searches), Check: check, Submit: submit(func(job exec.Job, p combination, points, score *graph.Datum) error {
			_, err := job.Submit(&graph.Spec{Op: searches, Params: &p, Operands: []graph.Operand{study.In(points), study.Out(score)}})
			return err
		})},
	}, nil
}
