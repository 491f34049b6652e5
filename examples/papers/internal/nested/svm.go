package nested

import (
	"context"
	"time"

	"github.com/tessera-la/tessera/examples/papers/internal/svm"
)

// folds is the number of parts of the points. Each is the test set of one fold.
const folds = 5

// combination is the parameter of the ops of the grid search: the parameters of a machine, the fold that tests
// it, a block, and how long training waits.
type combination struct {
	Gamma, C                    float64
	Fold, Block, Blocks, Rounds int64
	Unit                        int64 // nanoseconds
}

// params returns the parameters of a combination's machine.
func (p *combination) params() svm.Params { return svm.Params{Kernel: svm.RBF, Gamma: p.Gamma, C: p.C} }

// wait waits as long as training takes beside what it computes.
func (p *combination) wait() { time.Sleep(time.Duration(p.Unit)) }

// A machine is a row whose length depends on the number n of all points. It has the number of support vectors,
// the objective, the numbers of the support vectors, and their multipliers.
//
//	[ k, objective, id … (n) , alpha … (n) ]

// read returns the machine that is stored in a row.
func read(m, points row) (v svm.Machine) {
	n := len(points) / width
	v.Objective = m[1]
	for i := range int(m[0]) {
		id := int(m[2+i])
		v.IDs, v.X, v.Alpha = append(v.IDs, id), append(v.X, point(points, id)), append(v.Alpha, m[2+n+i])
	}
	return v
}

// write stores a machine in the row m.
func write(m, points row, v svm.Machine) {
	n := len(points) / width
	clear(m)
	m[0], m[1] = float64(len(v.IDs)), v.Objective
	for i, id := range v.IDs {
		m[2+i], m[2+n+i] = float64(id), v.Alpha[i]
	}
}

// point returns the coordinates of point i.
func point(points row, i int) row { return points[i*width : i*width+coordinates] }

// labels returns the labels of all points, ±1.
func labels(points row) row {
	y := make(row, len(points)/width)
	for i := range y {
		y[i] = 2*points[i*width+coordinates] - 1
	}
	return y
}

// fit trains a machine on the fold's training points of a block, and on the support vectors of another machine.
func fit(ctx context.Context, p *combination, points, have, out row) error {
	var block svm.Machine
	for i, n := 0, 0; i < len(points)/width; i++ {
		if i%folds == int(p.Fold) {
			continue // a test point of the fold
		}
		if n++; n%int(p.Blocks) == int(p.Block) {
			block.IDs, block.X, block.Alpha = append(block.IDs, i), append(block.X, point(points, i)), append(block.Alpha, 0)
		}
	}
	m, err := svm.Train(ctx, p.params(), block, read(have, points), labels(points))
	write(out, points, m)
	return err
}

// join trains a machine on the support vectors of two machines.
func join(ctx context.Context, p *combination, points, a, b, out row) error {
	m, err := svm.Train(ctx, p.params(), read(a, points), read(b, points), labels(points))
	write(out, points, m)
	return err
}

// test computes the part of a fold's test points that a machine classifies correctly.
func test(p *combination, points, machine, out row) {
	m, y, params := read(machine, points), labels(points), p.params()
	by := func(x row) (f float64) {
		for k, v := range m.X {
			f += m.Alpha[k] * y[m.IDs[k]] * params.At(x, v)
		}
		return f
	}
	// Choose the plane so that the mean margin of support vectors within the bound is 1.
	bias, free := 0.0, 0
	for k, v := range m.X {
		if m.Alpha[k] < p.C {
			bias += y[m.IDs[k]] - by(v)
			free++
		}
	}
	bias /= float64(max(free, 1))
	right, n := 0, 0
	for i := int(p.Fold); i < len(points)/width; i += folds {
		if (by(point(points, i))+bias > 0) == (y[i] > 0) {
			right++
		}
		n++
	}
	out[0] = float64(right) / float64(max(n, 1))
}
