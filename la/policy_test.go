package la_test

import (
	"errors"
	"testing"

	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
)

// pile is a policy as a program may have one: a stack that counts.
type pile struct {
	tasks  []*graph.Task
	popped int
}

func (p *pile) Push(ready []*graph.Task, _ int) { p.tasks = append(p.tasks, ready...) }

func (p *pile) Pop(int) *graph.Task {
	n := len(p.tasks) - 1
	if n < 0 {
		return nil
	}
	t := p.tasks[n]
	p.tasks = p.tasks[:n]
	p.popped++
	return t
}

func (p *pile) Len() int { return len(p.tasks) }

// TestOwnPolicy: a program gives an engine a policy, or a score, of its own.
func TestOwnPolicy(t *testing.T) {
	a := symmetric[float64](t, matgen.Spec{Kind: matgen.SPDCond, N: 120}, blas.Lower, 1)
	var p pile
	scored := 0
	for name, make := range map[string]func(dispatch.Machine) dispatch.Policy{
		"whole": func(dispatch.Machine) dispatch.Policy { return &p },
		"score": dispatch.ByScore(func(t *graph.Task, location int) float64 { scored++; return -float64(t.Len()) }),
	} {
		e := start(t, la.Options{Workers: 2, NB: 16, Direct: -1, NewPolicy: make})
		chol := la.NewCholesky[float64](e)
		if err := chol.Factorize(a); err != nil {
			t.Fatal(err)
		}
		small(t, choleskyResidual[float64](factor(t, chol), load[float64](a, blas.NoTrans)), 30, "%s", name)
		e.Close()
	}
	const tasks = 8 * 9 * 10 / 6 // of a factorization of 8×8 tiles
	if p.popped < tasks || scored < tasks {
		t.Errorf("%d tasks were taken from the policy and %d scored, want at least %d of each", p.popped, scored, tasks)
	}
	var bad *la.OptionsError
	if _, err := la.NewEngine(la.Options{Policy: dispatch.FIFO, NewPolicy: func(dispatch.Machine) dispatch.Policy { return &p }}); !errors.As(err, &bad) {
		t.Errorf("two policies: %v", err)
	}
}
