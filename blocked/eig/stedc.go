package eig

import (
	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/internal/submit"
	"github.com/tessera-la/tessera/kernels/op"
)

// Stedc submits the computation of the eigenvalues of the T of [Sb2st], and of its eigenvectors Sᵀ in the strips, if they are
// wanted: one task.
//
// Reference: LAPACK xSTEDC, xSTERF.
func Stedc[T blocked.Element](p *blocked.Program[T], s *Symmetric[T]) error {
	if s.n == 0 {
		return nil
	}
	tasks := submit.Of(p)
	t, λ := data(tasks, s, "T", s.t, s.byColumn), data(tasks, s, "λ", s.λ, s.byColumn)
	strips := data(tasks, s, "strips", s.strips, s.byStrip())
	operands := append(tasks.Column[:0], submit.Out(&λ[0]))
	for i := range strips {
		operands = append(operands, submit.Out(&strips[i]))
	}
	operands = append(operands, submit.In(&t[0]))
	tasks.Column = operands
	tasks.Submit(tasks.Ops.Stedc, &op.Stedc{First: s.first}, 0, operands...)
	return tasks.Err
}
