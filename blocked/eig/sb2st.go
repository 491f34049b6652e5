package eig

import (
	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/internal/submit"
	"github.com/tessera-la/tessera/kernels/op"
)

// Sb2st submits the reduction of the band C of [Sy2sb] to tridiagonal form, C = Q2·T·Q2ᵀ: one task, to which all of C goes.
//
// Reference: LAPACK xSYTRD_SB2ST.
func Sb2st[T blocked.Element](p *blocked.Program[T], s *Symmetric[T]) error {
	if s.n == 0 {
		return nil
	}
	tasks := submit.Of(p)
	t, sweeps := data(tasks, s, "T", s.t, s.byColumn), data(tasks, s, "sweeps", s.sweeps, s.byColumn)
	c := data(tasks, s, "C", s.c, s.byPanel)
	params := &op.Sb2st{B: s.band}
	operands := append(tasks.Operands[:0], submit.Out(&t[0]))
	if len(sweeps) > 0 {
		params.Sweeps = sweepsTogether
	}
	for i := range sweeps {
		operands = append(operands, submit.Out(&sweeps[i]))
	}
	for i := range c {
		operands = append(operands, submit.In(&c[i]))
	}
	tasks.Operands = operands
	tasks.Submit(tasks.Op("sb2st"), params, 0, operands...)
	return tasks.Err
}
