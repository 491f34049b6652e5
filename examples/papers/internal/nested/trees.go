package nested

import (
	"errors"
	"fmt"
	"time"

	"github.com/tessera-la/tessera/examples/internal/study"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// growing is the parameter of the ops of the forest.
type growing struct {
	Seed int64 // number of the tree, or of the first tree of a batch; all random numbers derive from it
	Unit int64 // how long training waits, in nanoseconds
}

var (
	// picks: IN points, OUT sample.
	picks = study.Op("pick", func(_ *versions.Call, p *growing, args []row) error {
		pick(args[1], args[0], uint64(p.Seed))
		return nil
	})
	// trains: IN points, IN sample, OUT tree.
	trains = study.Op("train", func(_ *versions.Call, p *growing, args []row) error {
		train(args[2], args[0], args[1], uint64(p.Seed))
		time.Sleep(time.Duration(p.Unit))
		return nil
	})
	// batches: IN points, OUT trees. It ends when its children have ended.
	batches = study.Op("batch", func(c *versions.Call, p *growing, args []row) error {
		children, err := exec.Nested(c)
		if err != nil {
			return err
		}
		return grower(children, study.Datum(args[0]), args[1], *p)
	})
)

// grower grows trees as tasks of a job, which is the driver's or that of a task's children. p is the parameter of
// the first tree.
func grower(job exec.Job, points *graph.Datum, forest row, p growing) error {
	n := len(points.Value.(*study.Row).X) / width
	for i := range len(forest) / treeSize {
		p, sample := &growing{p.Seed + int64(i), p.Unit}, study.Datum(make(row, n))
		tree := study.Datum(forest[i*treeSize : (i+1)*treeSize])
		if err := study.Submit(job,
			&graph.Spec{Op: picks, Params: p, Operands: []graph.Operand{study.In(points), study.Out(sample)}},
			&graph.Spec{Op: trains, Params: p, Operands: []graph.Operand{study.In(points), study.In(sample), study.Out(tree)}},
		); err != nil {
			return err
		}
	}
	return nil
}

// forest returns the ways to train a random forest.
func (o *options) forest() ([]study.Way, error) {
	points := newPoints(o.points, 1)
	want, sample := make(row, o.trees*treeSize), make(row, o.points)
	for i := range o.trees {
		pick(sample, points, uint64(i))
		train(want[i*treeSize:(i+1)*treeSize], points, sample, uint64(i))
	}
	right := accuracy(want, newPoints(2000, 2))
	fmt.Printf("random forest: %d trees on %d points, of other points %.1f %% right\n", o.trees, o.points, 100*right)
	if right < 0.7 {
		return nil, errors.New("the forest has learned nothing")
	}
	var got row
	check := study.Same("another forest", &got, want)
	flat := func(job exec.Job) error {
		got = make(row, len(want))
		return grower(job, study.Datum(points), got, growing{Unit: int64(o.unit)})
	}
	nested := func(job exec.Job) error {
		got = make(row, len(want))
		all := study.Datum(points)
		size := max(o.batch, (o.trees+o.agents-1)/o.agents)
		for first := 0; first < o.trees; first += size {
			part := study.Datum(got[first*treeSize : min(first+size, o.trees)*treeSize])
			if _, err := job.Submit(&graph.Spec{Op: batches, Params: &growing{int64(first), int64(o.unit)}, Operands: []graph.Operand{study.In(all), study.Out(part)}}); err != nil {
				return err
			}
		}
		return nil
	}
	return []study.Way{
		{Name: "flat", Nodes: o.nodes(false, picks, trains, batches), Submit: flat, Check: check},
		{Name: "nested", Nodes: o.nodes(false, picks, trains, batches), Submit: nested, Check: check},
		{Name: "nested, on a tree", Nodes: o.nodes(true, picks, trains, batches), Submit: nested, Check: check},
	}, nil
}
