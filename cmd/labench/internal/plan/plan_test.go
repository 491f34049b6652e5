package plan_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/cmd/labench/internal/plan"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/cluster/clustertest"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/transport"
	"gonum.org/v1/gonum/blas"
)

// local returns a runtime of some workers.
func local(t *testing.T, workers int) exec.Runtime {
	t.Helper()
	rt, err := exec.NewLocal(exec.Options{Workers: workers, Float: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rt.Close() })
	return rt
}

// driver returns a driver of some agents in this process.
func driver(t *testing.T, agents int, idle bool) *cluster.Driver {
	t.Helper()
	return clustertest.Start(t, transport.NewNetwork().Node, agents, func(o *cluster.Options) {
		o.Ops, o.Values, o.Errors, o.Log = op.NewTable().All(), kernels.Values(), kernels.Errors(), slog.New(slog.DiscardHandler)
		o.Runtime, o.Idle, o.Owner, o.Stay = local(t, 1), idle, true, true
	}).Driver
}

// factor makes a matrix on a runtime, calls made, and works on it.
func factor(t *testing.T, rt exec.Runtime, what string, n, nb int, layout blocked.Layout, nodes int, made func()) {
	t.Helper()
	e, err := la.NewEngine(la.Options{Runtime: rt, NB: nb})
	if err != nil {
		t.Fatal(err)
	}
	kind := blocked.Full
	if what == "cholesky" {
		kind = blocked.SymUpper
	}
	ctx := context.Background()
	var all []*blocked.Matrix[float64]
	for i := range 3 {
		a, err := blocked.Distributed[float64](rt, kind, n, n, nb)
		if err == nil {
			err = a.SetLayout(layout, nodes)
		}
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		all = append(all, a)
		if what == "gemm" && i == 2 {
			break // the product is not made before
		}
		job := rt.NewJob(ctx)
		if err := errors.Join(blocked.NewProgram(job, kernels.For[float64](op.NewTable())).Plrnt(a, 1, float64(n)), job.Wait()); err != nil {
			t.Fatal(err)
		}
		if what != "gemm" {
			break
		}
	}
	made()
	switch what {
	case "gemm":
		err = la.Gemm[float64](ctx, e, blas.NoTrans, blas.NoTrans, 1, all[0], all[1], 0, all[2])
	case "cholesky":
		err = la.NewCholesky[float64](e).Factorize(all[0], la.WithContext(ctx), la.InPlace())
	case "lu":
		err = la.NewLU[float64](e).Factorize(all[0], la.WithContext(ctx), la.InPlace())
	case "qr":
		err = la.NewQR[float64](e).Factorize(all[0], la.WithContext(ctx), la.InPlace())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestCounts: what is counted of gemm and the factorizations is what nodes do: tasks and bytes of
// each, on grids and with a driver that computes, too.
func TestCounts(t *testing.T) {
	const nb = 16
	for _, c := range []struct {
		op       string
		n, p, q  int
		together bool // the driver computes
	}{{"gemm", 100, 2, 2, false}, {"cholesky", 130, 2, 2, false}, {"cholesky", 130, 1, 3, true}, {"lu", 130, 1, 3, false}, {"lu", 100, 1, 2, true}, {"qr", 100, 1, 3, false}, {"qr", 100, 2, 2, false}} {
		t.Run(fmt.Sprintf("%s/%dx%d/together=%t", c.op, c.p, c.q, c.together), func(t *testing.T) {
			nodes := c.p * c.q
			agents := nodes
			if c.together {
				agents--
			}
			r := plan.New(plan.Options{Runtime: local(t, agents+1), Nodes: nodes, Apart: !c.together})
			factor(t, r, c.op, c.n, nb, blocked.BlockCyclic{P: c.p, Q: c.q}, nodes, r.Reset)
			x := r.Counts()
			all := x.Nodes
			if !c.together {
				all = append([]plan.Node{x.Driver}, all...)
			}
			d := driver(t, agents, !c.together)
			var before []cluster.Usage
			factor(t, d, c.op, c.n, nb, blocked.BlockCyclic{P: c.p, Q: c.q}, nodes, func() { before = d.Usage() })
			used := d.Usage()
			var moved, in int64
			for i, u := range used {
				tasks := 0
				for _, r := range u.Ran {
					tasks += r.Tasks
				}
				for _, r := range before[i].Ran {
					tasks -= r.Tasks
				}
				got := u.In - before[i].In
				moved += got
				in += all[i].In
				t.Logf("%s: %d tasks, %d in; counted %+v", u.Node, tasks, got, all[i])
				if tasks != all[i].Tasks {
					t.Errorf("%s: %d tasks, counted %d", u.Node, tasks, all[i].Tasks)
				}
				if got != all[i].In {
					t.Errorf("%s: got %d bytes, counted %d", u.Node, got, all[i].In)
				}
			}
			if moved != x.Moved || in != x.Moved {
				t.Errorf("%d bytes moved, counted %d", moved, x.Moved)
			}
		})
	}
}
