package la_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
)

// TestRuntime factors a matrix on a runtime of the program's, which has what la has
// no options for, and which the engine does not close.
func TestRuntime(t *testing.T) {
	rt, err := exec.NewLocal(exec.Options{Workers: 2, Stories: 4, Float: true,
		Watchdog: &exec.Watchdog{After: time.Minute, Report: func(s exec.Stuck) { t.Error(s) }}})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	e, err := la.NewEngine(la.Options{Runtime: rt, NB: 5, Direct: -1})
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Workers()) != 2 {
		t.Errorf("workers %+v", e.Workers())
	}
	a := symmetric[float64](t, matgen.Spec{Kind: matgen.SPD, N: 22}, blas.Lower, 0)
	c := la.NewCholesky[float64](e)
	if err := c.Factorize(a); err != nil {
		t.Fatal(err)
	}
	small(t, choleskyResidual[float64](factor(t, c), load[float64](a, blas.NoTrans)), 30, "on a runtime of the program's")
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if err := c.Factorize(a); !errors.Is(err, exec.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	job := rt.NewJob(context.Background())
	if _, err := job.Submit(&graph.Spec{Op: engine.Ops[float64](nil).All()[0]}); err != nil {
		t.Errorf("the engine has closed a runtime that is not its own: %v", err)
	}
	job.Wait()
	_, err = la.NewEngine(la.Options{Runtime: rt, Workers: 2, Static: true, NB: 5, Retries: -1})
	var bad *la.OptionsError
	if !errors.As(err, &bad) || len(bad.Problems) != 2 || !strings.Contains(err.Error(), "its own Workers, Static") {
		t.Errorf("options that are the runtime's: %v", err)
	}
}
