package csr_test

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/file"
	"github.com/tessera-la/tessera/blocked/parts"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/cluster/clustertest"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/loop"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/csr"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/transport/web"
	"github.com/tessera-la/tessera/versions"
	"go.uber.org/goleak"
	"gonum.org/v1/gonum/mat"
)

// counts is how often each node has done something.
type counts struct {
	mu sync.Mutex
	of map[string]int
}

func (c *counts) add(node string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[string]int{}
	}
	c.of[node] += n
}

func (c *counts) sum() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.of {
		n += k
	}
	return n
}

// grid is the parameter of op "grid", which makes rows of the matrix of the equation of Laplace on
// a square grid.
type grid struct{ Side, First int }

func (g grid) row(i int, add func(col int, v float64)) {
	x, y := i/g.Side, i%g.Side
	if x > 0 {
		add(i-g.Side, -1)
	}
	if y > 0 {
		add(i-1, -1)
	}
	add(i, 4)
	if y < g.Side-1 {
		add(i+1, -1)
	}
	if x < g.Side-1 {
		add(i+g.Side, -1)
	}
}

// sizes returns those of blocks of whole lines of the grid.
func (g grid) sizes(blocks int) (sizes []csr.Size) {
	for b := range blocks {
		lo, hi := b*g.Side/blocks*g.Side, (b+1)*g.Side/blocks*g.Side
		s := csr.Size{Rows: hi - lo}
		for i := lo; i < hi; i++ {
			g.row(i, func(int, float64) { s.Entries++ })
		}
		sizes = append(sizes, s)
	}
	return sizes
}

// gridOp is op "grid" of a node.
func gridOp(node string, made *counts) *versions.Op {
	return &versions.Op{Name: "grid", NewParams: func() any { return new(grid) }, Versions: []versions.Version{{Name: "go", Run: func(call *versions.Call) error {
		g, b := call.Params.(*grid), call.Args[0].(*csr.Block)
		made.add(node, 1)
		return b.Fill(func(i int, add func(int, float64)) { g.row(g.First+i, add) })
	}}}}
}

// generate makes the matrix on a runtime, and the same here.
func generate(t *testing.T, rt exec.Runtime, side, blocks int, made *counts) (*csr.Distributed, *csr.Matrix) {
	t.Helper()
	g := grid{Side: side}
	sizes := g.sizes(blocks)
	a, err := csr.Generate(t.Context(), rt, side*side, sizes, gridOp("driver", made), func(b int) any {
		first := 0
		for _, s := range sizes[:b] {
			first += s.Rows
		}
		return &grid{side, first}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	var is, js []int
	var vs []float64
	for i := range side * side {
		g.row(i, func(j int, v float64) { is, js, vs = append(is, i), append(js, j), append(vs, v) })
	}
	local, err := csr.FromCOO(start(t, 1), side*side, side*side, is, js, vs)
	if err != nil {
		t.Fatal(err)
	}
	return a, local
}

// nodes starts agents, over HTTP or within the process, and a driver that executes nothing itself.
// Each has the ops of the package and those of its own.
func nodes(t *testing.T, agents int, overHTTP bool, own func(node string) []*versions.Op, set func(*cluster.Options)) (d *cluster.Driver, kill []context.CancelFunc) {
	t.Helper()
	before := append(ends(), goleak.IgnoreCurrent())
	t.Cleanup(func() { goleak.VerifyNone(t, before...) })
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	node := transport.NewNetwork().Node
	if overHTTP {
		var peers []string // the first node
		node = func(name string) (transport.Transport, error) {
			tr, err := web.New(web.Options{Name: name, Listen: "127.0.0.1:0", Plain: true, Greet: 50 * time.Millisecond, Timeout: 20 * time.Second, Log: log, Peers: peers})
			if err == nil && peers == nil {
				peers = []string{web.Address(tr)}
			}
			return tr, err
		}
	}
	n := clustertest.Start(t, node, agents, func(o *cluster.Options) {
		o.Ops, o.Values, o.Errors, o.Idle, o.Log = csr.Ops(), append(kernels.Values(), csr.Values()...), csr.Errors(), true, log
		if own != nil {
			o.Ops = append(o.Ops, own(o.Transport.Self())...)
		}
		if set != nil {
			set(o)
		}
	})
	return n.Driver, n.Kill
}

// moved returns the bytes of a matrix that came from the driver, or to it.
func moved(d *cluster.Driver, matrix string) (n int64) {
	for _, u := range d.Usage() {
		for _, f := range u.Flows {
			if f.Data == matrix && (f.From == "driver" || u.Node == "driver") {
				n += f.Bytes
			}
		}
	}
	return n
}

// TestDistributed: products on the nodes have the bits of those here.
func TestDistributed(t *testing.T) {
	local := start(t, 2)
	d, _ := nodes(t, 2, false, nil, nil)
	for _, size := range [][3]int{{1, 1, 0}, {7, 4, 9}, {300, 40, 900}, {40, 300, 2000}, {0, 3, -1}, {3, 0, -1}} {
		m, n := size[0], size[1]
		var here *csr.Matrix
		if size[2] >= 0 {
			here, _ = random(t, local, m, n, size[2], uint64(m))
		} else {
			var err error
			if here, err = csr.FromCOO(local, m, n, nil, nil, nil); err != nil {
				t.Fatal(err)
			}
		}
		x, w := vector(n, 3), vector(m, 4)
		want, wantT, wide := make([]float64, m), make([]float64, n), mat.Dense{}
		if err := errors.Join(here.MulVecTo(t.Context(), want, false, x), here.MulVecTo(t.Context(), wantT, true, w)); err != nil {
			t.Fatal(err)
		}
		var b mat.Matrix = &mat.Dense{}
		if n > 0 {
			b = mat.NewDense(3, n, vector(3*n, 7)).T()
			if err := here.MulTo(t.Context(), &wide, b); err != nil {
				t.Fatal(err)
			}
		}
		var before []float64
		for k, rt := range []exec.Runtime{local, d, d} {
			name := fmt.Sprintf("%d×%d, runtime %d", m, n, k)
			a, err := csr.Scatter(t.Context(), rt, here, 5)
			if err != nil {
				t.Fatal(name, err)
			}
			y, z, p := vector(m, 5), vector(n, 6), mat.Dense{}
			if err := errors.Join(a.MulVecTo(t.Context(), y, false, x), a.MulVecTo(t.Context(), z, true, w)); err != nil {
				t.Fatal(name, err)
			}
			if n > 0 {
				if err := a.MulTo(t.Context(), &p, b); err != nil {
					t.Fatal(name, err)
				}
				if m > 0 && !mat.Equal(&p, &wide) {
					t.Errorf("%s: other bits of A·B", name)
				}
				near(t, name+": Aᵀ·x", mat.NewVecDense(n, z), mat.NewVecDense(n, wantT), m)
			}
			if !slices.Equal(y, want) {
				t.Errorf("%s: other bits of A·x", name)
			}
			if before != nil && !slices.Equal(z, before) {
				t.Errorf("%s: other bits of Aᵀ·x than on one machine", name)
			}
			before = z
			if rows, cols := a.Dims(); rows != m || cols != n || m > 40 && a.Blocks() != 5 {
				t.Errorf("%s: %d×%d in %d blocks", name, rows, cols, a.Blocks())
			}
			var misfit *la.ShapeError
			if err := a.MulVecTo(t.Context(), make([]float64, m+1), false, x); !errors.As(err, &misfit) {
				t.Errorf("%s: a result that is too long: %v", name, err)
			}
			if err := errors.Join(a.Close(), a.Close()); err != nil {
				t.Error(err)
			}
			if fault := panicOf(func() { a.MulVecTo(t.Context(), y, false, x) }); m > 0 && fault != blocked.ErrReleased {
				t.Errorf("%s: after Close: %v", name, fault)
			}
		}
	}
}

// panicOf returns what f panics with.
func panicOf(f func()) (fault any) {
	defer func() { fault = recover() }()
	f()
	return nil
}

// TestScatterLost: what was copied from the program's memory is lost with its node.
func TestScatterLost(t *testing.T) {
	d, kill := nodes(t, 2, false, nil, func(o *cluster.Options) { o.Owner, o.Stay = true, true })
	here, _ := random(t, start(t, 1), 50, 20, 300, 3)
	a, err := csr.Scatter(t.Context(), d, here, 4)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	kill[1]()
	y, x := make([]float64, 50), vector(20, 1)
	for {
		var lost *cluster.NodeLostError
		if err := a.MulVecTo(t.Context(), y, false, x); errors.As(err, &lost) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// TestReadParts: each node reads files with rows, plain and compressed, and says what is wrong with
// them.
func TestReadParts(t *testing.T) {
	d, _ := nodes(t, 2, false, nil, nil)
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		data := []byte(text)
		if strings.HasSuffix(name, ".gz") {
			var b strings.Builder
			z := gzip.NewWriter(&b)
			if _, err := z.Write(data); err != nil {
				t.Fatal(err)
			}
			z.Close()
			data = []byte(b.String())
		}
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const head = "%%MatrixMarket matrix coordinate real general\n"
	paths := []string{
		write("1.mtx", head+"2 3 3\n2 3 5\n1 1 2\n2 3 1\n"), // unsorted, and one twice
		write("2.mtx.gz", head+"1 3 1\n1 2 7\n"),
		write("3.mtx", head+"2 3 0\n"),
	}
	for _, rt := range []exec.Runtime{start(t, 2), d} {
		a, err := csr.ReadParts(t.Context(), rt, paths)
		if err != nil {
			t.Fatal(err)
		}
		y := make([]float64, 5)
		if err := a.MulVecTo(t.Context(), y, false, []float64{1, 10, 100}); err != nil || !slices.Equal(y, []float64{2, 600, 70, 0, 0}) {
			t.Error(y, err)
		}
		a.Close()
		var format *file.FormatError
		for name, text := range map[string]string{"width.mtx": head + "1 2 0\n", "text.mtx": "text", "entry.mtx": head + "1 3 1\n1 4 7\n"} {
			if _, err := csr.ReadParts(t.Context(), rt, append(paths[:2:2], write(name, text))); !errors.As(err, &format) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := csr.ReadParts(t.Context(), rt, []string{filepath.Join(dir, "none.mtx")}); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("no file: %v", err)
		}
		for name, text := range map[string]string{"symmetric": "2 2 2\n1 1 1\n2 1 1\n", "skew-symmetric": "2 2 1\n2 1 1\n"} {
			path := write(name+".mtx", "%%MatrixMarket matrix coordinate real "+name+"\n"+text)
			want := path + ":1: a part has all entries of its rows, and a file with a symmetry does not: general files only"
			if _, err := csr.ReadParts(t.Context(), rt, []string{path}); !errors.As(err, &format) || err.Error() != want {
				t.Errorf("%v, want %s", err, want)
			}
		}
	}
}

// TestSplitDistributed: the blocks are split by the nodes that have them, where tasks of the
// program's own go through them.
func TestSplitDistributed(t *testing.T) {
	const side, blocks = 20, 10
	made, seen := &counts{}, &counts{}
	count := func(node string) *versions.Op {
		return &versions.Op{Name: "count", Versions: []versions.Version{{Name: "go", Run: func(call *versions.Call) error {
			sum := call.Args[0].(*kernels.Tile[float64])
			sum.Data[0] = 0
			for _, a := range call.Args[1:] {
				b := a.(*csr.Block)
				seen.add(node, 1)
				rows, _ := b.Dims()
				for i := range rows {
					cols, values := b.Row(i)
					for k := range cols {
						sum.Data[0] += float64(cols[k]) * values[k]
					}
				}
			}
			return nil
		}}}}
	}
	d, _ := nodes(t, 2, false, func(node string) []*versions.Op { return []*versions.Op{gridOp(node, made), count(node)} },
		func(o *cluster.Options) { o.Owner, o.Stay = true, true })
	for k, rt := range []exec.Runtime{start(t, 2), d} {
		made.of, seen.of = nil, nil
		a, here := generate(t, rt, side, blocks, made)
		ps, at := parts.Split(rt, a, 2), a.Locate(rt)
		parts := 2
		if k == 1 {
			parts = 4 // two for each node
		}
		if len(ps.Partitions()) != parts || ps.Len() != side*side {
			t.Fatalf("%d partitions of %d rows, blocks are on %v", len(ps.Partitions()), ps.Len(), at)
		}
		for _, p := range ps.Partitions() {
			for _, b := range p.Indexes() {
				if at[b] != p.Location {
					t.Errorf("block %d is on %d, its partition on %d", b, at[b], p.Location)
				}
			}
		}
		data, sums := a.Data(1), make([]kernels.Tile[float64], parts)
		job := rt.NewJob(t.Context())
		_, err := loop.Submit(rt, job, ps.Len(), loop.Options{Parts: ps.Parts()}, func(c loop.Chunk) (graph.Spec, error) {
			to := &sums[c.Queue]
			*to = kernels.Tile[float64]{Rows: 1, Cols: 1, Stride: 1, Data: make([]float64, 1)}
			s := graph.Spec{Op: count("driver"), Operands: []graph.Operand{{Datum: &graph.Datum{Key: graph.Key{Matrix: 2, I: int32(c.Queue)}, Value: to, Bytes: 8}, Mode: graph.Out}}}
			for x := range ps.Spans(c.Lo, c.Hi) {
				s.Operands[0].Datum.Owner = data[x.Block].Owner
				s.Operands = append(s.Operands, graph.Operand{Datum: &data[x.Block], Mode: graph.In})
			}
			return s, nil
		})
		if err := errors.Join(err, job.Wait()); err != nil {
			t.Fatal(err)
		}
		got, want, raw := 0.0, 0.0, here.CSR().RawMatrix()
		for _, s := range sums {
			got += s.Data[0]
		}
		for k, v := range raw.Data {
			want += float64(raw.Ind[k]) * v
		}
		if got != want || seen.sum() != blocks {
			t.Errorf("%v, want %v; blocks seen on %v", got, want, seen.of)
		}
		if k == 1 && (made.of["agent0"] != blocks/2 || made.of["agent1"] != blocks/2) {
			t.Errorf("blocks made on %v: the driver counts as one of the nodes", made.of)
		}
		whole, err := csr.Scatter(t.Context(), rt, here, 0)
		if err != nil {
			t.Fatal(err)
		}
		cut, err := whole.Rechunk(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if w := 2 + 2*k; whole.Blocks() != w || cut.Blocks() != w {
			t.Errorf("%d and %d blocks for %d workers", whole.Blocks(), cut.Blocks(), w)
		}
		if err := errors.Join(whole.Close(), cut.Close()); err != nil {
			t.Error(err)
		}
		if k == 1 && fmt.Sprint(seen.of) != fmt.Sprint(made.of) {
			t.Errorf("blocks made on %v were gone through on %v", made.of, seen.of)
		}
		if n := moved(d, "A"); n != 0 {
			t.Errorf("%d bytes of the matrix went through the driver", n)
		}
	}
}

// TestGenerateFails: what an op does wrong, and sizes that make no sense, reach the caller.
func TestGenerateFails(t *testing.T) {
	made := &counts{}
	d, _ := nodes(t, 1, false, func(node string) []*versions.Op { return []*versions.Op{gridOp(node, made)} }, nil)
	most := math.MaxInt32
	for name, sizes := range map[string][]csr.Size{
		"too few": {{Rows: 4, Entries: 13}}, "too many": {{Rows: 4, Entries: 11}}, "a column": {{Rows: 5, Entries: 12}},
		"negative": {{Rows: -1}}, "no row": {{Entries: 1}}, "too large": {{Rows: 1, Entries: most + 1}},
	} {
		var wrong *csr.StructureError
		if a, err := csr.Generate(t.Context(), d, 4, sizes, gridOp("driver", made), func(int) any { return &grid{Side: 2} }); a != nil || !errors.As(err, &wrong) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
