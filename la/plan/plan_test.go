package plan_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/qr"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/sim"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/engine"
	"github.com/tessera-la/tessera/la/plan"
	"gonum.org/v1/gonum/blas"
)

// A matrix of 8000×8000 is factored on 1 to 16 cores of 10 GFLOP/s each.
func Example() {
	const n = 8000
	a := la.Symmetric[float64]{Uplo: blas.Upper, N: n, Stride: n, Data: make([]float64, n*n)} // nobody writes it
	for _, cores := range []int{1, 4, 16} {
		m := &sim.Machine{
			Kinds: []sim.Kind{{Name: "a core of 10 GFLOP/s", Cores: cores, Arch: "amd64", Rate: 10e9}},
			Nodes: []sim.Nodes{{Kind: "a core of 10 GFLOP/s", Count: 1}},
		}
		p, err := plan.Run(context.Background(), sim.Options{Machine: m}, 400, func(ctx context.Context, _ plan.Runtime, e *la.Engine) error {
			return la.NewCholesky[float64](e).Factorize(a, la.WithContext(ctx))
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%d cores: %.2f s, %.0f %% busy\n", cores, p.Seconds, 100*p.Sum().Busy/(p.Seconds*float64(cores)))
	}
	// Output:
	// 1 cores: 17.07 s, 100 % busy
	// 4 cores: 4.28 s, 100 % busy
	// 16 cores: 1.17 s, 91 % busy
}

// TestNodes: a program with distributed matrices, of which only the last part counts.
func TestNodes(t *testing.T) {
	m := &sim.Machine{Kinds: []sim.Kind{{Name: "x", Cores: 2, Rate: 1e9}}, Nodes: []sim.Nodes{{Kind: "x", Count: 3}}, Network: sim.Network{Bandwidth: 1e9}}
	run := func(reset bool) *sim.Prediction {
		p, err := plan.Run(context.Background(), sim.Options{Machine: m, Nodes: cluster.Options{Owner: true}}, 50, func(ctx context.Context, rt plan.Runtime, e *la.Engine) error {
			a, err := blocked.Distributed[float64](rt.(exec.Keeper), blocked.SymUpper, 500, 500, 50)
			if err != nil {
				return err
			}
			defer a.Close()
			if err := engine.Run(ctx, e, func(p *blocked.Program[float64]) error { return p.Plrnt(a, 1, 500) }); err != nil {
				return err
			}
			if reset {
				rt.Reset()
			}
			return la.NewCholesky[float64](e).Factorize(a, la.WithContext(ctx), la.InPlace())
		})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	all, last := run(false), run(true)
	if all.Tasks-last.Tasks != 55 || all.Seconds <= last.Seconds || len(all.Nodes) != 3 {
		t.Errorf("%+v\n%+v", all, last)
	}
}

// countdown is a context that ends while something is done: after its Err was asked so often.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// submits is a job that counts what is submitted.
type submits struct {
	exec.Job
	count int
}

func (j *submits) Submit(s *graph.Spec) (graph.TaskID, error) {
	j.count++
	return j.Job.Submit(s)
}

// TestSetUp: the end of the context ends a program also where it has no job, while nodes are told of
// tiles, and before a factorization has submitted its first task.
func TestSetUp(t *testing.T) {
	m := &sim.Machine{Kinds: []sim.Kind{{Name: "x", Cores: 1, Rate: 1e9}}, Nodes: []sim.Nodes{{Kind: "x", Count: 2}}, Network: sim.Network{Bandwidth: 1e9}}
	const tiles = 128
	ctx := &countdown{t.Context(), 4}
	_, err := plan.Run(ctx, sim.Options{Machine: m}, 1, func(_ context.Context, rt plan.Runtime, _ *la.Engine) error {
		_, err := blocked.Distributed[float64](rt.(exec.Keeper), blocked.Full, tiles, tiles, 1)
		if err == nil {
			t.Error("all tiles were made known")
		}
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	ctx.left = 1 << 10 // enough for the tiles
	_, err = plan.Run(ctx, sim.Options{Machine: m}, 1, func(ctx context.Context, rt plan.Runtime, _ *la.Engine) error {
		a, err := blocked.Distributed[float64](rt.(exec.Keeper), blocked.Full, tiles, tiles, 1)
		if err != nil {
			return err
		}
		q, err := qr.RotationsFor(a, qr.RotationOptions{})
		if err != nil {
			return err
		}
		job := &submits{Job: rt.NewJob(ctx)}
		ctx.(*countdown).left = tiles / 2 // fewer than there are columns
		err = qr.Geqrf(blocked.NewProgram(job, kernels.For[float64](op.NewTable())), a, q)
		if job.count > 0 {
			t.Errorf("%d tasks were submitted", job.count)
		}
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestErrors: what is wrong with the machine, or with the program, is returned.
func TestErrors(t *testing.T) {
	none := func(context.Context, plan.Runtime, *la.Engine) error { return nil }
	var bad *sim.MachineError
	if _, err := plan.Run(context.Background(), sim.Options{Machine: &sim.Machine{}}, 0, none); !errors.As(err, &bad) {
		t.Errorf("no machine: %v", err)
	}
	m := &sim.Machine{Kinds: []sim.Kind{{Name: "x", Cores: 1, Rate: 1}}, Nodes: []sim.Nodes{{Kind: "x", Count: 1}}}
	m.Kinds[0].Rate = 1e-8
	if _, err := plan.Run(context.Background(), sim.Options{Machine: m}, 50, func(ctx context.Context, _ plan.Runtime, e *la.Engine) error {
		return la.NewCholesky[float64](e).Factorize(la.Symmetric[float64]{Uplo: blas.Upper, N: 100, Stride: 100, Data: make([]float64, 100*100)}, la.WithContext(ctx))
	}); err == nil || !strings.Contains(err.Error(), "that takes more than") {
		t.Errorf("longer than time: %v", err)
	}
	why := errors.New("why")
	if _, err := plan.Run(context.Background(), sim.Options{Machine: m}, 0, func(context.Context, plan.Runtime, *la.Engine) error { return why }); !errors.Is(err, why) {
		t.Errorf("a program that fails: %v", err)
	}
}
