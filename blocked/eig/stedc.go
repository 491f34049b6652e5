package eig

import (
	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/internal/submit"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
)

// Stedc submits the computation of the eigenvalues of the T of [Sb2st], and of its eigenvectors Sᵀ in the strips, if they are
// wanted. Without eigenvectors, and for small T, it is one task. Else the last merge of divide and conquer, which is
// three quarters of the work or more, is divided by columns of Sᵀ:
//
//	laed0   of each half: its eigenvalues and eigenvectors, the latter in blocks of columns
//	laed4   of each part of the eigenvalues: the roots of the secular equation
//	laed3   of each block of columns: Sᵀ, in tiles by strips
//	recut   of each strip: puts its tiles together
//
// A block of columns needs the same columns of the vectors of one half, and stays on one node. So the vectors of a half go
// only to nodes with blocks of it.
//
// Reference: LAPACK xSTEDC, xSTERF.
func Stedc[T blocked.Element](p *blocked.Program[T], s *Symmetric[T]) error {
	if s.n == 0 {
		return nil
	}
	tasks := submit.Of(p)
	// The first block of columns writes λ, and is computed by its owner.
	t, λ := data(tasks, s, "T", s.t, s.byColumn), data(tasks, s, "λ", s.λ, s.byBlock())
	strips := data(tasks, s, "strips", s.strips, s.byStrip())
	if len(s.halves) > 0 {
		stedcHalves(tasks, s, &t[0], &λ[0], strips)
		return tasks.Err
	}
	operands := append(tasks.Operands[:0], submit.Out(&λ[0]))
	for i := range strips {
		operands = append(operands, submit.Out(&strips[i]))
	}
	operands = append(operands, submit.In(&t[0]))
	tasks.Operands = operands
	tasks.Submit(tasks.Op("stedc"), &op.Stedc{First: s.first}, 0, operands...)
	return tasks.Err
}

// stedcHalves is Stedc for a T that is divided.
func stedcHalves[T blocked.Element](tasks *submit.Tasks[T], s *Symmetric[T], t, λ *graph.Datum, strips []graph.Datum) {
	byBlock := s.byBlock()
	halves := data(tasks, s, "halves", s.halves, func(i int) int { return byBlock(i * blocksOfHalf) })
	q, roots := data(tasks, s, "Q", s.q, byBlock), data(tasks, s, "roots", s.roots, byBlock)
	z := data(tasks, s, "Z", s.z, func(i int) int { return byBlock(i % blocks) })
	for i := range halves {
		operands := append(tasks.Operands[:0], submit.Out(&halves[i]))
		for j := range blocksOfHalf {
			operands = append(operands, submit.Out(&q[i*blocksOfHalf+j]))
		}
		tasks.Operands = append(operands, submit.In(t))
		tasks.Submit(tasks.Op("laed0"), &op.Laed0{Second: i == 1}, 0, tasks.Operands...)
	}
	both := []graph.Operand{submit.In(&halves[0]), submit.In(&halves[1]), submit.In(t)}
	for j := range roots {
		tasks.Operands = append(append(tasks.Operands[:0], submit.Out(&roots[j])), both...)
		tasks.Submit(tasks.Op("laed4"), &op.Laed4{Part: j, Parts: blocks}, 0, tasks.Operands...)
	}
	for j := range q {
		operands := tasks.Operands[:0]
		if j == 0 {
			operands = append(operands, submit.Out(λ))
		}
		for i := range strips {
			operands = append(operands, submit.Out(&z[i*blocks+j]))
		}
		operands = append(operands, submit.In(&q[j]))
		for i := range roots {
			operands = append(operands, submit.In(&roots[i]))
		}
		tasks.Operands = append(operands, both...)
		tasks.Submit(tasks.Op("laed3"), &op.Laed3{First: s.first, Parts: blocks, Second: j >= blocksOfHalf, Values: j == 0}, 0, tasks.Operands...)
	}
	for i := range strips {
		operands := append(tasks.Operands[:0], submit.Out(&strips[i]))
		for j := range blocks {
			operands = append(operands, submit.In(&z[i*blocks+j]))
		}
		tasks.Operands = operands
		tasks.Submit(tasks.Op("recut"), &op.Recut{Across: blocks, Uplo: blas.All}, 0, operands...)
	}
}
