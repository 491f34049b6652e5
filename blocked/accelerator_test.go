package blocked_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/chol"
	"github.com/tessera-la/tessera/blocked/internal/blockedtest"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/kernels/kerneltest/traffic"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// noted is an accelerator that notes the calls that were started on it.
type noted struct {
	*cuda.Accelerator
	mu    sync.Mutex
	calls [][]traffic.Operand
}

func (a *noted) Launch(l *versions.Launch) error {
	err := a.Accelerator.Launch(l)
	if err == nil {
		a.note(l)
	}
	return err
}

func (a *noted) LaunchBatch(all []*versions.Launch) error {
	err := a.Accelerator.LaunchBatch(all)
	if err == nil {
		a.note(all...)
	}
	return err
}

func (a *noted) note(all ...*versions.Launch) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, l := range all {
		var ops []traffic.Operand
		for i, v := range l.Call.Args {
			ops = append(ops, traffic.Operand{Value: v, Use: l.Uses[i]})
		}
		a.calls = append(a.calls, ops)
	}
}

// TestPotrfTraffic factors a matrix of 32×32 tiles on a simulated device that has
// room for twelve of them, under every policy, and compares what was copied with
// the least that is possible for the calls in their order. What is read before it
// is there is NaN.
func TestPotrfTraffic(t *testing.T) {
	const nb, places, bound = 8, 12, 1.3
	const tiles = 32
	const n = tiles * nb
	kinds := dispatch.Kinds()
	if testing.Short() {
		kinds = []dispatch.Kind{dispatch.Priority, dispatch.Locality, dispatch.EarliestFinish}
	}
	selector, err := versions.NewSelector(versions.Config{Only: []string{"cuda"}, Measure: true})
	if err != nil {
		t.Fatal(err)
	}
	g0 := blockedtest.Generated[float64](t, matgen.Spec{Kind: matgen.SPDCond, N: n, Seed: 1}, blas.Lower)
	want := blockedtest.CopyOf(g0)
	blockedtest.Must(t, blockedtest.StartLocal(t, exec.Options{Workers: 1}), "host", tiles*(tiles+1)*(tiles+2)/6,
		func(p *blocked.Program[float64]) error {
			return chol.Potrf(p, blockedtest.ViewKind(want, blocked.SymLower, nb))
		})
	for _, kind := range kinds {
		t.Run(kind.String(), func(t *testing.T) {
			device, err := cuda.NewSimulated(cuda.SimOptions{Memory: 8 << 20, Jitter: 20 * time.Microsecond, Seed: uint64(kind)})
			if err != nil {
				t.Fatal(err)
			}
			inner, err := cuda.NewAccelerator(device, cuda.Options{Memory: places * nb * nb * 8, Movers: 1, Poison: true})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := inner.Close(); err != nil {
					t.Error(err)
				}
			}()
			a := &noted{Accelerator: inner}
			opt := exec.Options{Workers: 1, Policy: kind, Selector: selector}
			opt.Accelerators = append(opt.Accelerators, a)
			rt, err := exec.NewLocal(opt)
			if err != nil {
				t.Fatal(err)
			}
			defer rt.Close()
			m := blocked.New[float64](blocked.SymLower, n, n, nb)
			for i := range n {
				for j := range i + 1 {
					m.Tile(i/nb, j/nb).Set(i%nb, j%nb, g0.Data[i*g0.Stride+j])
				}
			}
			job := rt.NewJob(context.Background())
			err = chol.Potrf(blocked.NewProgram(job, kernels.For[float64](op.NewTable())), m)
			if jobErr := job.Wait(); jobErr != nil {
				err = jobErr
			}
			if err != nil {
				t.Fatal(err)
			}
			worst := 0.0
			for i := range n {
				for j := range i + 1 {
					d := m.Tile(i/nb, j/nb).At(i%nb, j%nb) - want.Data[i*want.Stride+j]
					if !(max(d, -d) <= worst) {
						worst = max(d, -d)
					}
				}
			}
			if !(worst <= 1e-10) {
				t.Errorf("the factor differs from the host's by %g", worst)
			}
			if calls := tiles * (tiles + 1) * (tiles + 2) / 6; len(a.calls) != calls {
				t.Errorf("%d calls, want %d", len(a.calls), calls)
			}
			in, out := traffic.Least(a.calls, places)
			s := inner.Stats()
			ratio := float64(s.Ins+s.Outs) / float64(in+out)
			t.Logf("%d in and %d out, least %d and %d for %d calls: %.3f", s.Ins, s.Outs, in, out, len(a.calls), ratio)
			if ratio > bound || ratio < 1 {
				t.Errorf("%.3f times the least traffic, want 1 to %g", ratio, bound)
			}
		})
	}
}
