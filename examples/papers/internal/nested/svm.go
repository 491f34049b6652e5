package nested

import (
	"context"

	"github.com/tessera-la/tessera/examples/papers/internal/svm"
)

// A machine is a row of a length that goes by the number n of all points: how many support vectors
// it has, its objective, their numbers, and their multipliers.
//
//	[ k, objective, id … (n) , alpha … (n) ]

// read returns the machine of a row.
func read(m, points row) (v svm.Machine) {
	n := len(points) / width
	v.Objective = m[1]
	for i := range int(m[0]) {
		id := int(m[2+i])
		v.IDs, v.X, v.Alpha = append(v.IDs, id), append(v.X, point(points, id)), append(v.Alpha, m[2+n+i])
	}
	return v
}

// write makes m the row of a machine.
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

// params returns what a machine of a combination is to be.
func (p *combination) params() svm.Params { return svm.Params{Kernel: svm.RBF, Gamma: p.Gamma, C: p.C} }

// fit makes out the machine of the points of a block that the fold trains with, and of the support
// vectors of another machine.
func fit(ctx context.Context, p *combination, points, have, out row) error {
	var block svm.Machine
	for i, n := 0, 0; i < len(points)/width; i++ {
		if i%folds == int(p.Fold) {
			continue // it is tested with
		}
		if n++; n%int(p.Blocks) == int(p.Block) {
			block.IDs, block.X, block.Alpha = append(block.IDs, i), append(block.X, point(points, i)), append(block.Alpha, 0)
		}
	}
	m, err := svm.Train(ctx, p.params(), block, read(have, points), labels(points))
	write(out, points, m)
	return err
}

// join makes out the machine of the support vectors of two.
func join(ctx context.Context, p *combination, points, a, b, out row) error {
	m, err := svm.Train(ctx, p.params(), read(a, points), read(b, points), labels(points))
	write(out, points, m)
	return err
}

// test makes out the part of the points of a fold that a machine classifies as they are.
func test(p *combination, points, machine, out row) {
	m, y, params := read(machine, points), labels(points), p.params()
	by := func(x row) (f float64) {
		for k, v := range m.X {
			f += m.Alpha[k] * y[m.IDs[k]] * params.At(x, v)
		}
		return f
	}
	// The plane goes so that support vectors within the bound have the margin 1 in the mean.
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

// folds is how many parts the points have, of which each is once what the others are tested with.
const folds = 5

// combination is the parameter of the ops of the grid search: what a machine is to be, the fold that
// it is tested with, and one block of so many.
type combination struct {
	Gamma, C                    float64
	Fold, Block, Blocks, Rounds int64
}
