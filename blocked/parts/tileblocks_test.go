package parts_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/internal/blockedtest"
	"github.com/tessera-la/tessera/blocked/parts"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/loop"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
)

// visits is how many tiles each node has gone through.
type visits struct {
	mu    sync.Mutex
	tiles map[string]int
}

// sumOp returns the op of a node that adds up the elements of tiles, from its second operand
// on, in the first.
func (v *visits) sumOp(node string) *versions.Op {
	return &versions.Op{Name: "sum", Versions: []versions.Version{{Name: "go", Run: func(call *versions.Call) error {
		sum := call.Args[0].(*kernels.Tile[float64])
		sum.Data[0] = 0
		for _, a := range call.Args[1:] {
			t := a.(*kernels.Tile[float64])
			for i := range t.Rows {
				for _, x := range t.Row(i) {
					sum.Data[0] += x
				}
			}
		}
		v.mu.Lock()
		v.tiles[node] += len(call.Args) - 1
		v.mu.Unlock()
		return nil
	}}}}
}

// driver starts a driver and two agents with that op.
func (v *visits) driver(t *testing.T, set func(*cluster.Options)) *cluster.Driver {
	t.Helper()
	return blockedtest.StartNodes(t, func(o *cluster.Options) {
		o.Ops = append(o.Ops, v.sumOp(o.Transport.Self()))
		set(o)
	})
}

// sums submits a task for each chunk of the partitions and returns what they add up to.
func sums(t *testing.T, rt exec.Runtime, op *versions.Op, tiles *parts.TileBlocks[float64], ps *parts.Partitions, plan loop.Plan) (tasks int, sum float64) {
	t.Helper()
	job, data := rt.NewJob(t.Context()), tiles.Data(1)
	var partials []*kernels.Tile[float64]
	tasks, err := loop.Submit(rt, job, ps.Len(), loop.Options{Parts: ps.Parts(), Plan: plan}, func(c loop.Chunk) (graph.Spec, error) {
		p := &kernels.Tile[float64]{Rows: 1, Cols: 1, Stride: 1, Data: make([]float64, 1)}
		to := &graph.Datum{Name: "sum", Key: graph.Key{Matrix: 2, I: int32(len(partials))}, Value: p, Bytes: 8}
		partials = append(partials, p)
		s := graph.Spec{Op: op, Operands: []graph.Operand{{Datum: to, Mode: graph.Out}}}
		for x := range ps.Spans(c.Lo, c.Hi) {
			if len(s.Operands) == 1 {
				to.Owner = data[x.Block].Owner
			}
			s.Operands = append(s.Operands, graph.Operand{Datum: &data[x.Block], Mode: graph.In})
		}
		if part := ps.Partitions()[c.Queue].Indexes(); !slices.Contains(part, slices.Index(datums(data), s.Operands[1].Datum)) {
			t.Errorf("chunk %+v is not of partition %v", c, part)
		}
		return s, nil
	})
	if err := errors.Join(err, job.Wait()); err != nil {
		t.Fatal(err)
	}
	for _, p := range partials {
		sum += p.Data[0]
	}
	return tasks, sum
}

func datums(data []graph.Datum) (all []*graph.Datum) {
	for i := range data {
		all = append(all, &data[i])
	}
	return all
}

// TestTileBlocksNodes: the tiles of a distributed matrix are split by the nodes that have them,
// which the tasks of their partitions run on, and the sums come back.
func TestTileBlocksNodes(t *testing.T) {
	for _, owner := range []bool{false, true} {
		v := &visits{tiles: map[string]int{}}
		d := v.driver(t, func(o *cluster.Options) { o.Idle, o.Owner, o.Stay = true, owner, owner })
		for n, kind := range []blocked.Kind{blocked.Full, blocked.SymUpper} {
			a, err := blocked.Distributed[float64](d, kind, 70, 70, 16)
			if err != nil {
				t.Fatal(err)
			}
			if err := a.SetLayout(blocked.BlockCyclic{P: 1, Q: 2}, 2); err != nil {
				t.Fatal(err)
			}
			tiles := parts.TileBlocksOf(a)
			if at := tiles.Locate(d); tiles.Blocks() != []int{25, 15}[n] || slices.Max(at) != -1 {
				t.Errorf("%d tiles, which nobody has written, are on %v", tiles.Blocks(), at)
			}
			job := d.NewJob(t.Context())
			if err := errors.Join(blocked.NewProgram(job, kernels.For[float64](op.NewTable())).Plrnt(a, 5, 1), job.Wait()); err != nil {
				t.Fatal(err)
			}
			want := 0.0
			for i, j := range a.StoredTiles() {
				tile := a.Read(i, j)
				for r := range tile.Rows {
					for _, x := range tile.Row(r) {
						want += x
					}
				}
			}
			// The nodes of the workers, by location.
			host := map[int]string{}
			for _, w := range d.Workers() {
				if w.Host != "" {
					host[w.Location] = w.Host
				}
			}
			ps, at := parts.Split(d, tiles, 0), tiles.Locate(d)
			expected := map[string]int{}
			for _, p := range ps.Partitions() {
				for _, b := range p.Indexes() {
					if at[b] != p.Location {
						t.Errorf("tile %d is on %d, its partition on %d", b, at[b], p.Location)
					}
				}
				expected[host[p.Location]] += len(p.Indexes())
			}
			if owner && (len(expected) != 2 || expected[""] != 0 || len(ps.Partitions()) != 4) {
				t.Errorf("tiles are on %v, in %d partitions", expected, len(ps.Partitions()))
			}
			for _, plan := range []loop.Plan{{}, {Scheme: loop.GSS}} {
				clear(v.tiles)
				tasks, got := sums(t, d, v.sumOp("driver"), tiles, ps, plan)
				if plan.Scheme == loop.Auto && tasks != len(ps.Partitions()) || tasks < len(ps.Partitions()) || math.Abs(got-want) > 1e-10*float64(tiles.Blocks()) {
					t.Errorf("%v: %d tasks for %d partitions, sum %v, want %v", plan, tasks, len(ps.Partitions()), got, want)
				}
				if owner && fmt.Sprint(v.tiles) != fmt.Sprint(expected) {
					t.Errorf("%v: tiles on %v were gone through on %v", plan, expected, v.tiles)
				}
			}
			a.Close()
			if fault := blockedtest.Recovered(func() { tiles.Locate(d) }); fault != blocked.ErrReleased {
				t.Errorf("after Close: %v", fault)
			}
		}
	}
}

// TestTileBlocks: the same tasks, and a loop, over the tiles of a matrix of this process.
func TestTileBlocks(t *testing.T) {
	rt, err := exec.NewLocal(exec.Options{Workers: 2, Float: true})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	a, want := blocked.New[float64](blocked.SymLower, 50, 50, 16), 0.0
	for i := range 50 {
		for j := range i + 1 {
			a.Set(i, j, float64(i*j))
		}
	}
	tiles := parts.TileBlocksOf(a)
	ps := parts.Split(rt, tiles, 3)
	var bytes int64
	for b := range tiles.Blocks() {
		bytes += tiles.Bytes(b)
		i, j := tiles.Index(b)
		for r := range a.Tile(i, j).Rows {
			for _, x := range a.Tile(i, j).Row(r) {
				want += x
			}
		}
	}
	if tiles.Blocks() != 10 || bytes != a.Bytes() || len(ps.Partitions()) != 3 {
		t.Error(tiles.Blocks(), bytes, len(ps.Partitions()))
	}
	v := &visits{tiles: map[string]int{}}
	if tasks, sum := sums(t, rt, v.sumOp(""), tiles, ps, loop.Plan{}); tasks != 3 || sum != want || v.tiles[""] != 10 {
		t.Error(tasks, sum, want, v.tiles)
	}
	sum, err := loop.Reduce(t.Context(), rt, ps.Len(), loop.Options{Parts: ps.Parts()}, loop.Reduction[float64]{
		New: func() float64 { return 0 },
		Add: func(sum, part *float64) { *sum += *part },
	}, func(c loop.Chunk, sum *float64) error {
		for s := range ps.Spans(c.Lo, c.Hi) {
			tile := a.Tile(tiles.Index(s.Block))
			for r := range tile.Rows {
				for _, x := range tile.Row(r) {
					*sum += x
				}
			}
		}
		return nil
	})
	if err != nil || sum != want {
		t.Error(err, sum, want)
	}
}
