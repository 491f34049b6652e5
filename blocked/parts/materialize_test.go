package parts_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/internal/blockedtest"
	"github.com/tessera-la/tessera/blocked/parts"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/cluster/clustertest"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
)

// refusing is a job that takes so many tasks only.
type refusing struct {
	exec.Job
	left int
}

var errFull = errors.New("no more tasks")

func (r *refusing) Submit(s *graph.Spec) (graph.TaskID, error) {
	if r.left == 0 {
		return 0, errFull
	}
	r.left--
	return r.Job.Submit(s)
}

// TestMaterializeFails: blocks stay, for tasks that write them, until the caller closes them.
func TestMaterializeFails(t *testing.T) {
	d := (&visits{tiles: map[string]int{}}).driver(t, func(o *cluster.Options) { o.Idle = true })
	a, err := blocked.Distributed[float64](d, blocked.Full, 40, 3, 8)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	blockedtest.Run(t, d, func(p *blocked.Program[float64]) error { return p.Plrnt(a, 3, 0) })
	rows := parts.RowBlocksOf(a)
	job := d.NewJob(t.Context())
	blocks, err := parts.Materialize(blocked.NewProgram(&refusing{job, 1}, kernels.For[float64](op.NewTable())), rows, parts.Split(d, rows, 2))
	if err != errFull || blocks == nil {
		t.Fatal(blocks, err)
	}
	if fault := blockedtest.Recovered(func() { blocks.Data(1) }); fault != nil {
		t.Errorf("while a task may write them: %v", fault)
	}
	if err := errors.Join(job.Wait(), blocks.Close()); err != nil {
		t.Error(err)
	}
	if fault := blockedtest.Recovered(func() { blocks.Data(1) }); fault != blocked.ErrReleased {
		t.Errorf("panic %v, want %v", fault, blocked.ErrReleased)
	}
}

// TestMaterializeNodes: each partition of rows becomes a block, on its node, and nothing moves.
func TestMaterializeNodes(t *testing.T) {
	v := &visits{tiles: map[string]int{}}
	d := v.driver(t, func(o *cluster.Options) { o.Idle, o.Owner, o.Stay = true, true, true })
	local, err := exec.NewLocal(exec.Options{Workers: 2, Float: true})
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	const m, n = 70, 5
	for _, rt := range []exec.Runtime{local, d} {
		a, err := blocked.Distributed[float64](rt, blocked.Full, m, n, 8)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.SetLayout(blocked.BlockCyclic{P: 2, Q: 1}, 2); err != nil {
			t.Fatal(err)
		}
		var rows, blocks *parts.RowBlocks[float64]
		var ps *parts.Partitions
		blockedtest.Run(t, rt, func(p *blocked.Program[float64]) error { return p.Plrnt(a, 3, 0) })
		all, driver := clustertest.Traffic(d)
		blockedtest.Run(t, rt, func(p *blocked.Program[float64]) (err error) {
			rows = parts.RowBlocksOf(a)
			ps = parts.Split(rt, rows, 2)
			blocks, err = parts.Materialize(p, rows, ps)
			return err
		})
		parts := ps.Partitions()
		if all2, driver2 := clustertest.Traffic(d); all2 != all || driver2 != driver {
			t.Errorf("%d bytes moved, %d through the driver", all2-all, driver2-driver)
		}
		if r, c := blocks.Dims(); r != m || c != n || blocks.Blocks() != len(parts) || rt == d && len(parts) != 4 {
			t.Fatalf("%d×%d in %d blocks of %d partitions", r, c, blocks.Blocks(), len(parts))
		}
		at := blocks.Locate(rt)
		for j, p := range parts {
			if rt == d && at[j] != p.Location || blocks.Items(j) != p.Len() || blocks.Bytes(j) != int64(8*n*p.Len()) {
				t.Errorf("block %d with %d rows is on %d, its partition on %d", j, blocks.Items(j), at[j], p.Location)
			}
		}
		// What is in them: a task for each copies it here.
		copies, data, job := make([]kernels.Tile[float64], len(parts)), blocks.Data(1), rt.NewJob(t.Context())
		for j := range parts {
			copies[j] = kernels.Tile[float64]{Rows: blocks.Items(j), Cols: n, Stride: n, Data: make([]float64, blocks.Items(j)*n)}
			if _, err := job.Submit(&graph.Spec{Op: kernels.For[float64](op.NewTable()).Op("lacpy"), Params: &op.Lacpy{Uplo: 'A'}, Operands: []graph.Operand{{Datum: &data[j], Mode: graph.In},
				{Datum: &graph.Datum{Key: graph.Key{Matrix: 2, I: int32(j)}, Owner: data[j].Owner, Value: &copies[j], Bytes: copies[j].Bytes()}, Mode: graph.Out}}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := job.Wait(); err != nil {
			t.Fatal(err)
		}
		for j, p := range parts {
			k := 0
			for i := range p.ItemIndexes() {
				for c := range n {
					if got := copies[j].At(k, c); got != a.At(i, c) {
						t.Fatalf("row %d of block %d has %v, want %v of row %d", k, j, got, a.At(i, c), i)
					}
				}
				k++
			}
		}
		if rt == d {
			for _, f := range []func(){func() { rows.Block(0) }, func() { rows.Rechunk(t.Context(), rt, 3) }, func() { rows.Materialize(t.Context(), rt, ps) }} {
				if fault := blockedtest.Recovered(f); fault != blocked.ErrAway {
					t.Errorf("panic %v, want %v", fault, blocked.ErrAway)
				}
			}
		} else if want := a.At(ps.Partitions()[0].Indexes()[0]*8, 1); blocks.Block(0).At(0, 1) != want {
			t.Error(blocks.Block(0).At(0, 1), want)
		}
		if err := errors.Join(blocks.Close(), rows.Close()); err != nil {
			t.Error(err)
		}
		for _, f := range []func(){func() { blocks.Locate(rt) }, func() { rows.Data(1) }, func() { a.At(0, 0) }} {
			if fault := blockedtest.Recovered(f); rt == d && fault != blocked.ErrReleased {
				t.Errorf("after Close: %v", fault)
			}
		}
		if rt == local && !slices.Equal(at, blocks.Locate(rt)) {
			t.Error("blocks in memory are gone after Close")
		}
	}
}
