package scalapack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/cluster/clustertest"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// markOp multiplies the elements of all matrices by −2: each rank in its local arrays, where it finds each element where
// INDXG2L says.
func markOp() *versions.Op {
	return &versions.Op{Name: "mark", NewParams: func() any { return new(Matrices) }, Versions: []versions.Version{{Name: "go", Run: func(call *versions.Call) error {
		rank, x := call.Local.(*transport.Group).Rank, call.Params.(*Matrices)
		return Locals(call, rank, func(all []Local[float64]) error {
			p, q, _ := x.Grid.place(rank)
			for k, l := range all {
				var err error
				elements(x.Grid, p, q, l.Desc, func(i, j, at int) {
					want := float64(1 + 100*i + j + k)
					if x.shapes()[k].Kind == blocked.SymLower && i < j && l.Data[at] == 0 { // or the tile is a diagonal one
						want = 0
					}
					if l.Data[at] != want {
						err = fmt.Errorf("element (%d, %d) of matrix %d is %v, want %v", i, j, k, l.Data[at], want)
					}
					l.Data[at] *= -2
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
	}}}}
}

// TestRoutine: the ranks of a routine have the elements that they have in ScaLAPACK, between tasks of others.
func TestRoutine(t *testing.T) {
	for _, g := range []Grid{{P: 1, Q: 1}, {P: 2, Q: 2}, {P: 3, Q: 1}, {P: 2, Q: 2, ByColumns: true}} {
		mark := markOp()
		d := clustertest.Start(t, transport.NewNetwork().Node, g.P*g.Q, func(o *cluster.Options) {
			o.Ops, o.Values, o.Errors = append(op.NewTable().All(), mark), kernels.Values(), append(kernels.Errors(), Errors()...)
			o.Log, o.Idle = slog.New(slog.DiscardHandler), true
		}).Driver
		for _, n := range []int{1, 7, 29} {
			a, b := blocked.New[float64](blocked.SymLower, n, n, 5), blocked.New[float64](blocked.Full, n, 9, 4)
			fill := func(m *blocked.Matrix[float64], k int) {
				for ti, tj := range m.StoredTiles() {
					x := m.Tile(ti, tj)
					for i := range x.Rows {
						for j := range x.Cols {
							x.Set(i, j, float64(1+100*(ti*m.NB()+i)+tj*m.NB()+j+k))
						}
					}
				}
			}
			fill(a, 0)
			fill(b, 1)
			job := d.NewJob(t.Context())
			p := blocked.NewProgram(job, kernels.For[float64](op.NewTable()))
			if err := Submit(job, p, mark, g, a, b); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(p.Lascl(0.5, b), job.Wait()); err != nil {
				t.Fatalf("%+v, n = %d: %v", g, n, err)
			}
			for i := range n {
				for j := range 9 {
					if got, want := b.At(i, j), -float64(1+100*i+j+1); got != want {
						t.Fatalf("%+v, n = %d: B(%d, %d) is %v, want %v", g, n, i, j, got, want)
					}
				}
				for j := range i + 1 {
					if got, want := a.At(i, j), -2*float64(1+100*i+j); got != want {
						t.Fatalf("%+v, n = %d: A(%d, %d) is %v, want %v", g, n, i, j, got, want)
					}
				}
			}
		}
		d.Close()
	}
}

// TestRoutineRefused: a grid of more ranks than nodes, no matrix, and one machine alone.
func TestRoutineRefused(t *testing.T) {
	rt, err := exec.NewLocal(exec.Options{Workers: 1, Float: true})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	job := rt.NewJob(context.Background())
	p := blocked.NewProgram(job, kernels.For[float64](op.NewTable()))
	a := blocked.New[float64](blocked.Full, 3, 3, 2)
	if err := Submit(job, p, markOp(), Grid{P: 1, Q: 2}, a); !errors.As(err, new(*cluster.GroupError)) {
		t.Errorf("on one machine: %v", err)
	}
	for _, all := range [][]*blocked.Matrix[float64]{nil, {a, a}, {a, a, a, a}} {
		if err := Submit(job, p, markOp(), Grid{P: 1, Q: 1}, all...); !errors.As(err, new(*DescError)) {
			t.Errorf("%d matrices: %v", len(all), err)
		}
	}
	if err := job.Wait(); err != nil {
		t.Error(err)
	}
}
