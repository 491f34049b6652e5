package eig

import (
	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/internal/submit"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/kernels/op"
)

// Sy2sb submits the reduction of A to a band, A = Q1·C·Q1ᵀ. A is overwritten.
//
//	sy2sbqr   completes W of the panel before, updates its rows by V and W, and factors them: V
//	sy2sbmm   of each column of tiles: updates it by V and W of the panel before, adds its part to Y = A·V, and copies
//	          the rows of the next panel
//
// So a panel, which is some rows of the whole matrix, is factored by one task, and each step sends V and W to all nodes,
// and gathers the rows of the panel and Y. A tree of tiles, as in a QR factorization, would pass on tiles of A itself,
// each as often as it is paired with another one.
//
// References: Dongarra, Hammarling and Sorensen, Block reduction of matrices to condensed forms for eigenvalue
// computations (1989); LAPACK xSYTRD_SY2SB.
func Sy2sb[T blocked.Element](p *blocked.Program[T], s *Symmetric[T]) error {
	tasks := submit.Of(p)
	a := tasks.Operand(s.a)
	v, f, c := data(tasks, s, "V", s.v, s.byPanel), data(tasks, s, "F", s.f, s.byPanel), data(tasks, s, "C", s.c, s.byPanel)
	w, y := data(tasks, s, "W", s.w, s.byColumn), data(tasks, s, "Y", s.y, s.byColumn)
	r := data(tasks, s, "R", s.r, s.byColumn)
	for i, at := range s.panels {
		if tasks.Err != nil {
			break // there may be millions of tasks
		}
		priority := int64(len(s.panels) - i)
		top := at.first / s.nb
		column := &op.Sy2sbmm{N: s.n, NB: s.nb, First: at.first, Rows: at.rows, Begin: i == 0, Old: i > 1}
		sum := 0 // the first Y of the step before
		if i > 0 {
			sum = s.epoch(at.first) * sets
		}
		for j := top; j < s.a.NT(); j++ {
			column := *column
			column.Column, column.Clear = j, i > 0 && j-top < sets
			operands := tasks.Operands[:0]
			for l := top; l <= j; l++ {
				operands = append(operands, submit.InOut(a.Tile(l, j)))
			}
			operands = append(operands, submit.Out(&r[j]))
			if i > 0 {
				operands = append(operands, yOperand(&y[sum+j%sets], column.Clear), submit.In(&v[i-1]))
			}
			if i > 1 {
				operands = append(operands, submit.In(&v[i-2]), submit.In(&w[s.epoch(s.panels[i-1].first)]))
			}
			tasks.Operands = operands
			tasks.Submit(tasks.Op("sy2sbmm"), &column, priority, operands...)
		}
		operands := tasks.Operands[:0]
		if i < len(s.panels)-1 {
			operands = append(operands, submit.Out(&v[i]), submit.Out(&f[i]))
		}
		operands = append(operands, submit.Out(&c[i]))
		if i > 0 {
			operands = append(operands, submit.Out(&w[s.epoch(at.first)]))
		}
		for j := top; j < s.a.NT(); j++ {
			operands = append(operands, submit.In(&r[j]))
		}
		if i > 0 {
			operands = append(operands, submit.In(&v[i-1]), submit.In(&f[i-1]))
			for g := range min(sets, s.a.NT()-top) {
				operands = append(operands, submit.In(&y[sum+(top+g)%sets]))
			}
		}
		tasks.Operands = operands
		tasks.Submit(tasks.Op("sy2sbqr"), &op.Sy2sbqr{N: s.n, NB: s.nb, B: s.band, First: at.first, Rows: at.rows}, priority, operands...)
	}
	return tasks.Err
}

// yOperand returns a Y that a task overwrites or adds to.
func yOperand(d *graph.Datum, clear bool) graph.Operand {
	if clear {
		return submit.Out(d)
	}
	return submit.InOut(d)
}
