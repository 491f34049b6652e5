package scalapack

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/cluster/clustertest"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/transport"
	"go.uber.org/goleak"
	"gonum.org/v1/gonum/blas"
)

// processes starts a driver that is in no grid and computes nothing, and a node for each process.
func processes(t testing.TB, g Grid) (*cluster.Driver, []*Process) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
	var all []*Process
	n := clustertest.Start(t, transport.NewNetwork().Node, g.P*g.Q, func(o *cluster.Options) {
		s, err := NewProcess(g, len(all))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
		o.Ops, o.Values, o.Errors = append(op.NewTable().All(), s.Ops()...), kernels.Values(), append(kernels.Errors(), Errors()...)
		o.Log, o.Idle = slog.New(slog.DiscardHandler), true
	})
	return n.Driver, all
}

// shape is a matrix in arrays of a grid, and in tiles.
type shape struct {
	m, n, mb, nb, rsrc, csrc int
	tile                     int
	kind                     blocked.Kind
}

// pad is how far apart columns of a local array are beyond its rows.
const pad = 3

// desc returns the descriptor of a process.
func (c shape) desc(g Grid, rank int) Desc {
	d := Desc{Type: 1, M: int32(c.m), N: int32(c.n), MB: int32(c.mb), NB: int32(c.nb), RSrc: int32(c.rsrc), CSrc: int32(c.csrc)}
	if p, q, ok := g.place(rank); ok {
		rows, _ := d.Local(g, p, q)
		d.LLD = int32(max(1, rows) + pad)
	} else {
		d.Context = -1
	}
	return d
}

// local returns the local array of a process, with value(i, j) for element (i, j).
func local[T kernels.Element](g Grid, rank int, d Desc, value func(i, j int) T) []T {
	p, q, ok := g.place(rank)
	if !ok {
		return nil
	}
	_, cols := d.Local(g, p, q)
	a := make([]T, int(d.LLD)*cols)
	for k := range a {
		a[k] = T(math.NaN())
	}
	elements(g, p, q, d, func(i, j, at int) { a[at] = value(i, j) })
	return a
}

// elements calls f with each element of a process, and where it lies: as INDXG2P and INDXG2L say.
func elements(g Grid, p, q int, d Desc, f func(i, j, at int)) {
	for i := range int(d.M) {
		for j := range int(d.N) {
			bi, bj := i/int(d.MB), j/int(d.NB)
			if (bi+int(d.RSrc))%g.P == p && (bj+int(d.CSrc))%g.Q == q {
				f(i, j, (bj/g.Q*int(d.NB)+j%int(d.NB))*int(d.LLD)+bi/g.P*int(d.MB)+i%int(d.MB))
			}
		}
	}
}

// shapes are all that may matter: aligned and not, ragged, other sources, empty, one half.
func shapes(g Grid) []shape {
	p, q := g.P-1, g.Q-1
	return []shape{
		{m: 32, n: 32, mb: 8, nb: 8, tile: 8},
		{m: 37, n: 29, mb: 8, nb: 8, tile: 8, rsrc: p, csrc: q},
		{m: 37, n: 29, mb: 5, nb: 3, tile: 8, csrc: q},
		{m: 23, n: 41, mb: 2, nb: 16, tile: 7, rsrc: p},
		{m: 17, n: 17, mb: 30, nb: 30, tile: 5, csrc: q},
		{m: 26, n: 26, mb: 4, nb: 4, tile: 9, kind: blocked.SymLower},
		{m: 26, n: 26, mb: 6, nb: 4, tile: 6, kind: blocked.TriUpper, rsrc: p},
		{m: 1, n: 9, mb: 2, nb: 2, tile: 4},
		{m: 0, n: 9, mb: 2, nb: 2, tile: 4},
	}
}

// stores reports whether a matrix of that kind stores an element.
func stores(kind blocked.Kind, i, j int) bool {
	return kind.Uplo() == blas.All || i == j || (i > j) == (kind.Uplo() == blas.Lower)
}

// TestMove: a matrix gets from the arrays of all grids into tiles, and from these into other
// arrays, of which nothing else is written; tiles that are blocks of the arrays stay where they
// are.
func TestMove(t *testing.T) {
	for _, g := range []Grid{{P: 1, Q: 1}, {P: 2, Q: 2}, {P: 3, Q: 1}, {P: 2, Q: 2, ByColumns: true}} {
		t.Run(fmt.Sprintf("%+v", g), func(t *testing.T) {
			d, all := processes(t, g)
			for k, c := range shapes(g) {
				moves[float64](t, d, all, fmt.Sprint(k), c)
			}
			moves[float32](t, d, all, "f32", shapes(g)[2])
		})
	}
}

func moves[T kernels.Element](t *testing.T, d *cluster.Driver, all []*Process, name string, c shape) {
	t.Helper()
	g := all[0].grid
	value := func(i, j int) T { return T(1 + i*100 + j) }
	arrays := map[string][][]T{}
	var from, to *Array[T]
	for _, s := range all {
		for what, v := range map[string]func(i, j int) T{"from": value, "to": func(int, int) T { return -1 }} {
			desc := c.desc(g, s.rank)
			a := local(g, s.rank, desc, v)
			x, err := Share(s, what+name, desc, a)
			if err != nil {
				t.Fatal(err)
			}
			arrays[what] = append(arrays[what], a)
			if s == all[len(all)-1] {
				if what == "to" {
					to = x
				} else {
					from = x
				}
			}
		}
	}
	a, err := blocked.Distributed[T](d, c.kind, c.m, c.n, c.tile)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	ctx := t.Context()
	before, driver := fetched(d, ""), fetched(d, "driver")
	if err := from.Load(ctx, d, a); err != nil {
		t.Fatalf("%+v: %v", c, err)
	}
	switch moved := fetched(d, "") - before; {
	case c.mb == c.tile && c.nb == c.tile && moved != 0:
		t.Errorf("%+v: %d bytes moved, though tiles are blocks", c, moved)
	case fetched(d, "driver") != driver:
		t.Errorf("%+v: %d bytes went through the driver", c, fetched(d, "driver")-driver)
	case moved > a.Bytes():
		t.Errorf("%+v: %d bytes moved, and the matrix has %d", c, moved, a.Bytes())
	}
	for i := range c.m {
		for j := range c.n {
			if got := a.At(i, j); stores(c.kind, i, j) && got != value(i, j) {
				t.Fatalf("%+v: tile element (%d, %d) is %v, want %v", c, i, j, got, value(i, j))
			}
		}
	}
	if err := to.Store(ctx, d, a); err != nil {
		t.Fatalf("%+v: %v", c, err)
	}
	for _, s := range all {
		want := local(g, s.rank, c.desc(g, s.rank), func(i, j int) T {
			if stores(c.kind, i, j) {
				return value(i, j)
			}
			return -1
		})
		for k, got := range arrays["to"][0] {
			if got != want[k] && (got == got || want[k] == want[k]) {
				t.Fatalf("%+v: process %d has %v at %d, want %v", c, s.rank, got, k, want[k])
			}
		}
		arrays["to"] = arrays["to"][1:]
	}
}

// TestMoveLocal: on one machine the grid has one process.
func TestMoveLocal(t *testing.T) {
	rt, err := exec.NewLocal(exec.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	value := func(i, j int) float64 { return float64(1 + 100*i + j) }
	for _, g := range []Grid{{P: 1, Q: 1}, {P: 1, Q: 2}} {
		s, err := NewProcess(g, 0)
		if err != nil {
			t.Fatal(err)
		}
		c := shape{m: 17, n: 12, mb: 3, nb: 5, tile: 8}
		desc := c.desc(g, 0)
		mem := local(g, 0, desc, value)
		x, err := Share(s, "A", desc, mem)
		if err != nil {
			t.Fatal(err)
		}
		a := blocked.New[float64](c.kind, c.m, c.n, c.tile)
		if err := x.Load(t.Context(), rt, a); (err == nil) != (g.Q == 1) {
			t.Fatalf("%+v: error %v", g, err)
		}
		if g.Q > 1 {
			continue
		}
		elements(g, 0, 0, desc, func(i, j, at int) {
			if a.At(i, j) != value(i, j) {
				t.Fatalf("element (%d, %d) is %v, want %v", i, j, a.At(i, j), value(i, j))
			}
			mem[at] = 0
		})
		if err := x.Store(t.Context(), rt, a); err != nil {
			t.Fatal(err)
		}
		elements(g, 0, 0, desc, func(i, j, at int) {
			if mem[at] != value(i, j) {
				t.Fatalf("element (%d, %d) of the array is %v, want %v", i, j, mem[at], value(i, j))
			}
		})
	}
}

// fetched returns the bytes that nodes have fetched from one another, or a node from others and
// these from it.
func fetched(d *cluster.Driver, node string) (n int64) {
	for _, u := range d.Usage() {
		switch node {
		case "":
			n += u.In
		case u.Node:
			n += u.In + u.Out
		}
	}
	return n
}

// TestMoveErrors: what is wrong on a process reaches the driver as it is.
func TestMoveErrors(t *testing.T) {
	g := Grid{P: 1, Q: 2}
	d, all := processes(t, g)
	c := shape{m: 12, n: 12, mb: 4, nb: 4, tile: 5}
	a, err := blocked.Distributed[float64](d, c.kind, c.m, c.n, c.tile)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	share := func(s *Process, c shape) *Array[float64] {
		desc := c.desc(g, s.rank)
		x, err := Share(s, "A", desc, local(g, s.rank, desc, func(i, j int) float64 { return 1 }))
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	x := share(all[2], c)
	first := share(all[0], c)
	fails := func(want ArrayError) {
		t.Helper()
		var task *exec.TaskError
		var wrong *ArrayError
		if err := x.Load(t.Context(), d, a); !errors.As(err, &task) || !errors.As(err, &wrong) || wrong.Process != want.Process || wrong.Array != "A" {
			t.Errorf("error %v, want %+v", err, want)
		}
	}
	fails(ArrayError{Process: 1}) // does not share it
	other := c
	other.mb = 3
	share(all[1], other)
	fails(ArrayError{Process: 1})
	desc := c.desc(g, 1)
	if _, err := Share(all[1], "A", desc, local(g, 1, desc, func(i, j int) float32 { return 1 })); err != nil {
		t.Fatal(err)
	}
	fails(ArrayError{Process: 1})
	share(all[1], c)
	if err := x.Load(t.Context(), d, a); err != nil {
		t.Error(err)
	}
	first.Close()
	fails(ArrayError{Process: 0})
}
