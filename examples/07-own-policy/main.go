// Command 07-own-policy schedules a Cholesky factorization with two policies of its own, and with the default:
//
//   - the default, priority: the task with the highest priority goes first;
//   - a score: the task that writes furthest to the left goes first, so that columns are
//     finished one after the other;
//   - a whole policy: it wraps the default, and notes how many tasks were ready at once,
//     which is the number of workers that could be used.
//
// A policy changes the time but never the result. The program compares the factors bit by bit and checks the
// residual.
//
//	go run ./examples/07-own-policy
package main

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"time"

	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

const n, nb = 1500, 100

// leftmost is the score of a task. It is lower, the further to the right the tile lies that the task writes.
func leftmost(t *graph.Task, _ int) float64 {
	for i := range t.Len() {
		if o := t.Operand(i); o.Mode&graph.Out != 0 {
			return -float64(o.Datum.J)
		}
	}
	return 0
}

// meter is a policy that wraps another one.
type meter struct {
	dispatch.Policy
	most int // largest number of tasks that were ready at once
}

// Push implements [dispatch.Policy].
func (m *meter) Push(ready []*graph.Task, from int) {
	m.Policy.Push(ready, from)
	m.most = max(m.most, m.Len())
}

func main() {
	log.SetFlags(0)
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	a := definite()
	var metered *meter
	var first *mat.TriDense
	for _, p := range []struct {
		name string
		make func(dispatch.Machine) dispatch.Policy
	}{
		{"priority", nil},
		{"leftmost", dispatch.ByScore(leftmost)},
		{"metered", func(m dispatch.Machine) dispatch.Policy {
			metered = &meter{Policy: dispatch.New(dispatch.Priority, m)}
			return metered
		}},
	} {
		// The bits depend on the versions of the kernels, so keep these the same.
		e, err := la.NewEngine(la.Options{NB: nb, Deterministic: true, NewPolicy: p.make})
		if err != nil {
			return err
		}
		chol := la.NewCholesky[float64](e)
		best := time.Hour
		for range 5 {
			start := time.Now()
			if err = chol.Factorize(a); err != nil {
				break
			}
			best = min(best, time.Since(start))
		}
		if err == nil {
			var l mat.TriDense
			chol.LTo(&l)
			if first == nil {
				first = &l
				err = check(e, a, &l)
			} else if !mat.Equal(first, &l) {
				err = fmt.Errorf("%s: the factor is not the same", p.name)
			}
		}
		e.Close()
		if err != nil {
			return err
		}
		fmt.Printf("%-9s %8.1f ms\n", p.name, float64(best.Microseconds())/1000)
	}
	fmt.Printf("up to %d tasks were ready at once\n", metered.most)
	if metered.most == 0 {
		return fmt.Errorf("the policy was not asked")
	}
	return nil
}

// definite returns a symmetric positive definite matrix.
func definite() *mat.SymDense {
	rng := rand.New(rand.NewPCG(5, 6))
	a := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			a.SetSym(i, j, rng.Float64())
		}
		a.SetSym(i, i, n)
	}
	return a
}

// check returns an error unless ‖L·Lᵀ - A‖ / (n·‖A‖·ε) is small.
func check(e *la.Engine, a *mat.SymDense, l *mat.TriDense) error {
	d := mat.NewSymDense(n, nil)
	d.CopySym(a)
	if err := la.Syrk(context.Background(), e, blas.NoTrans, 1, l, -1, d); err != nil {
		return err
	}
	residual := mat.Norm(d, 1) / (n * mat.Norm(a, 1) * 0x1p-53)
	fmt.Printf("residual of the factor %.2g\n", residual)
	if !(residual < 30) {
		return fmt.Errorf("residual of the factor: %g, want below 30", residual)
	}
	return nil
}
