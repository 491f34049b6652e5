package csr

import (
	"context"
	"sync"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/csr/internal/supernodal"
	"github.com/tessera-la/tessera/versions"
)

// solutionOp is the op of tasks that compute a part of a solution, forward or backward. Operands:
// the parts that it reads (in), the part (out). They stand for rows, which the solution has.
var solutionOp = sync.OnceValue(func() *versions.Op { return partOp("csrsolution") })

// solutionTask is the parameter of op "csrsolution".
type solutionTask[T la.Element] struct {
	s        *solution[T]
	number   int
	backward bool
}

// work returns the number of operations.
func (p *solutionTask[T]) work() float64 { return 2 * p.s.parts[p.number].Work * float64(p.s.nrhs) }

// units returns 1: one core computes a part.
func (p *solutionTask[T]) units() int { return 1 }

// compute computes the part.
func (p *solutionTask[T]) compute(*versions.Call) error {
	d := p.s.borrow()
	defer p.s.giveBack(d)
	if p.backward {
		p.s.Backward(p.number, d)
	} else {
		p.s.Forward(p.number, d)
	}
	return nil
}

// solution is a solution that is computed by several goroutines.
type solution[T la.Element] struct {
	*supernodal.Solution[T]
	parts []supernodal.Part
	nrhs  int
	kept[*supernodal.Desk[T]]
}

// solveAlone is the number of elements of the factor, times that of right-hand sides, up to which a solution stays with the
// caller: about a millisecond.
const solveAlone = 1 << 20

// solve implements choleskyFactor.
func (f *fronts[T]) solve(ctx context.Context, rt exec.Runtime, x []T, nrhs int) error {
	s := &solution[T]{Solution: f.NewSolution(x, nrhs), parts: f.Solving, nrhs: nrhs}
	s.make = s.NewDesk
	n := len(s.parts)
	if f.goroutines == 1 || f.Stored()*int64(nrhs) < solveAlone {
		d := s.NewDesk()
		for p := range n {
			s.Forward(p, d)
		}
		for p := n - 1; p >= 0; p-- {
			s.Backward(p, d)
		}
		return nil
	}
	t := tasks{job: rt.NewJob(ctx)}
	data, params := make([]graph.Datum, n), make([]solutionTask[T], 2*n)
	for k := range params {
		p := &params[k]
		*p = solutionTask[T]{s, k, false}
		var operands []graph.Operand
		if k < n {
			for _, c := range s.parts[k].Reads {
				operands = append(operands, in(&data[c]))
			}
			data[k].Value = p
		} else {
			*p = solutionTask[T]{s, 2*n - 1 - k, true}
			if up := s.parts[p.number].Into; up >= 0 {
				operands = append(operands, in(&data[up]))
			}
		}
		t.submit(solutionOp(), p, append(operands, graph.Operand{Datum: &data[p.number], Mode: graph.InOut})...)
	}
	return t.wait()
}
