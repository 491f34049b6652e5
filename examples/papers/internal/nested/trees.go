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

// growing is the parameter of the ops of the forest: the number of a tree, or of the first tree of a batch. All
// random numbers derive from it.
type growing struct{ Seed int64 }

var (
	// picks: IN points, OUT sample.
	picks = study.Op("pick", func(_ *versions.Call, p *growing, args []row) error {
		pick(args[1], args[0], uint64(p.Seed))
		return nil
	})
	// trains: IN points, IN sample, OUT tree.
	trains = study.Op("train", func(_ *versions.Call, p *growing, args []row) error {
		train(args[2], args[0], args[1], uint64(p.Seed))
		time.Sleep(*unit)
		return nil
	})
	// batches: IN points, OUT trees. It ends when its children have ended.
	batches = study.Op("batch", func(c *versions.Call, p *growing, args []row) error {
		children, err := exec.Nested(c)
		if err != nil {
			return err
		}
		return grower(children, study.Datum(args[0]), args[1], int(p.Seed))
	})
)

// grower grows trees as tasks of a job, which is the driver's or that of a task's children. first is the number
// of the first tree.
func grower(job exec.Job, points *graph.Datum, forest row, first int) error {
	n := len(points.Value.(*study.Row).X) / width
	for i := range len(forest) / treeSize {
		seed, sample := &growing{int64(first + i)}, study.Datum(make(row, n))
		tree := study.Datum(forest[i*treeSize : (i+1)*treeSize])
		if err := study.Submit(job,
			&graph.Spec{Op: picks, Params: seed, Operands: []graph.Operand{study.In(points), study.Out(sample)}},
			&graph.Spec{Op: trains, Params: seed, Operands: []graph.Operand{study.In(points), study.In(sample), study.Out(tree)}},
		); err != nil {
			return err
		}
	}
	return nil
}

// forest returns the ways to train a random forest.
func forest() ([]study.Way, error) {
	points := newPoints(*many, 1)
	want, sample := make(row, *trees*treeSize), make(row, *many)
	for i := range *trees {
		pick(sample, points, uint64(i))
		train(want[i*treeSize:(i+1)*treeSize], points, sample, uint64(i))
	}
	right := accuracy(want, newPoints(2000, 2))
	fmt.Printf("random forest: %d trees on %d points, of other points %.1f %% right\n", *trees, *many, 100*right)
	if right < 0.7 {
		return nil, errors.New("the forest has learned nothing")
	}
	var got row
	check := study.Same("another forest", &got, want)
	flat := func(job exec.Job) error {
		got = make(row, len(want))
		return grower(job, study.Datum(points), got, 0)
	}
	nested := func(job exec.Job) error {
		got = make(row, len(want))
		all := study.Datum(points)
		size := max(*batch, (*trees+*count-1) / *count)
		for first := 0; first < *trees; first += size {
			part := study.Datum(got[first*treeSize : min(first+size, *trees)*treeSize])
			if _, err := job.Submit(&graph.Spec{Op: batches, Params: &growing{int64(first)}, Operands: []graph.Operand{study.In(all), study.Out(part)}}); err != nil {
				return err
			}
		}
		return nil
	}
	return []study.Way{
		{Name: "flat", Nodes: nodes(false, picks, trains, batches), Submit: flat, Check: check},
		{Name: "nested", Nodes: nodes(false, picks, trains, batches), Submit: nested, Check: check},
		{Name: "nested, on a tree", Nodes: nodes(true, picks, trains, batches), Submit: nested, Check: check},
	}, nil
}
