package loopapps

import (
	"math"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/loop"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t testing.TB, workers int) exec.Runtime {
	t.Helper()
	rt, err := exec.NewLocal(exec.Options{Workers: workers, Float: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rt.Close() })
	return rt
}

// edges is a graph given by its edges.
type edges struct {
	n    int
	list [][2]int
}

func (g edges) Vertices() int         { return g.n }
func (g edges) Edges() int            { return len(g.list) }
func (g edges) Edge(e int) (u, v int) { return g.list[e][0], g.list[e][1] }

func TestAdjacency(t *testing.T) {
	rt := start(t, 3)
	a, err := adjacency(t.Context(), rt, edges{5, [][2]int{{0, 3}, {3, 0}, {2, 2}, {3, 1}, {0, 3}, {4, 0}}})
	if err != nil {
		t.Fatal(err)
	}
	if a.Vertices() != 5 || a.Entries() != 6 || !slices.Equal(a.ia, []int{0, 2, 3, 3, 5, 6}) || !slices.Equal(a.ja, []int32{3, 4, 3, 0, 1, 0}) {
		t.Errorf("%+v", a)
	}
	// Whichever node makes it, a random graph is the same, symmetric and without loops.
	var before []int32
	for _, workers := range []int{1, 3} {
		g, err := adjacency(t.Context(), start(t, workers), NewRMAT(1000, 8000, 2))
		if err != nil {
			t.Fatal(err)
		}
		for i := range g.Vertices() {
			row := g.ja[g.ia[i]:g.ia[i+1]]
			for k, j := range row {
				_, back := slices.BinarySearch(g.ja[g.ia[j]:g.ia[j+1]], int32(i))
				if int(j) == i || k > 0 && row[k-1] >= j || !back {
					t.Fatalf("row %d: %v", i, row)
				}
			}
		}
		if before != nil && !slices.Equal(before, g.ja) {
			t.Error("another graph on another number of workers")
		}
		before = g.ja
	}
}

// TestRMAT: the quadrants get their parts of the edges.
func TestRMAT(t *testing.T) {
	const n, edges = 1 << 10, 200000
	g := NewRMAT(n, edges, 3)
	var quadrants [4]float64
	for e := range edges {
		u, v := g.Edge(e)
		if again, w := g.Edge(e); again != u || w != v || u < 0 || u >= n || v < 0 || v >= n {
			t.Fatal(e, u, v)
		}
		quadrants[u/(n/2)*2+v/(n/2)]++
	}
	for i, want := range []float64{0.57, 0.19, 0.19, 0.05} {
		if got := quadrants[i] / edges; math.Abs(got-want) > 0.01 {
			t.Errorf("quadrant %d has %v of the edges, want %v", i, got, want)
		}
	}
	for e := range 1000 { // a number of vertices that is no power of two
		if u, v := NewRMAT(700, 1000, 4).Edge(e); u >= 700 || v >= 700 {
			t.Fatal(u, v)
		}
	}
	if u, v := NewRMAT(1, 1, 1).Edge(0); u != 0 || v != 0 {
		t.Error(u, v)
	}
}

func TestComponents(t *testing.T) {
	rt := start(t, 3)
	for name, g := range map[string]Graph{
		"rmat":  NewRMAT(3000, 6000, 5),
		"alone": edges{4, nil},
		"one":   edges{1, [][2]int{{0, 0}}},
		"pairs": edges{6, [][2]int{{0, 5}, {1, 4}, {2, 3}}},
	} {
		a, err := adjacency(t.Context(), rt, g)
		if err != nil {
			t.Fatal(err)
		}
		x := newComponents(a)
		for _, p := range []loop.Plan{{}, {Scheme: loop.GSS}, {Scheme: loop.SS, Layout: loop.PerCore, Shares: true}} {
			rounds, err := x.Run(t.Context(), rt, loop.Options{Plan: p}, new(Sites))
			if err != nil || len(rounds) == 0 || rounds[0].Items != g.Vertices() {
				t.Fatalf("%s, %v: %v, %v", name, p, err, rounds)
			}
			if err := x.Verify(true); err != nil {
				t.Errorf("%s, %v: %v", name, p, err)
			}
		}
		if n := len(slices.Compact(slices.Sorted(slices.Values(x.c)))); name == "pairs" && n != 3 || name == "alone" && n != 4 {
			t.Errorf("%s: %d components", name, n)
		}
		if x.c[0]--; x.Verify(false) == nil {
			t.Errorf("%s: a wrong label passes", name)
		}
	}
	// A path has more rounds than there are to be: the labels are wrong, and Verify says so.
	var path edges
	path.n = 300
	for i := range path.n - 1 {
		path.list = append(path.list, [2]int{i, i + 1})
	}
	a, err := adjacency(t.Context(), rt, path)
	if err != nil {
		t.Fatal(err)
	}
	x := newComponents(a)
	if rounds, err := x.Run(t.Context(), rt, loop.Options{}, new(Sites)); err != nil || len(rounds) != maxRounds || x.Verify(true) == nil {
		t.Error(len(rounds), err)
	}
}

func TestRegression(t *testing.T) {
	rt := start(t, 3)
	for _, size := range [][2]int{{2, 1}, {300, 7}, {1000, 40}} {
		r := newRegression(size[0], size[1], 6)
		for _, p := range []loop.Plan{{}, {Scheme: loop.TSS, Grain: 5}} {
			loops, err := r.Run(t.Context(), rt, loop.Options{Plan: p}, new(Sites))
			if err != nil || len(loops) != 4 || loops[3].Items != size[0] {
				t.Fatalf("%v: %v, %v", size, err, loops)
			}
			if err := r.Verify(true); err != nil {
				t.Errorf("%v, %v: %v", size, p, err)
			}
		}
		if r.beta[0] += 1e-6; r.Verify(false) == nil {
			t.Errorf("%v: a wrong solution passes", size)
		}
	}
	if _, err := newRegression(1, 2, 7).Run(t.Context(), rt, loop.Options{}, new(Sites)); err == nil {
		t.Error("features without deviation")
	}
}

// TestForms: k-means and histograms in all forms, and wrong results do not pass.
func TestForms(t *testing.T) {
	for _, workers := range []int{1, 3} {
		rt := start(t, workers)
		for _, blocks := range []int{1, 7, 50} {
			m, err := newKMeans(t.Context(), rt, 2000, 5, 4, 5, blocks, 9)
			if err != nil {
				t.Fatal(err)
			}
			h, err := newHistogram(t.Context(), rt, 2000, 3, 4, blocks, 9)
			if err != nil {
				t.Fatal(err)
			}
			for i, p := range []Formed{m, h} {
				for k, f := range Forms() {
					p.SetForm(f)
					for _, plan := range []loop.Plan{{}, {Scheme: loop.TSS, Grain: 3}} {
						loops, err := p.Run(t.Context(), rt, loop.Options{Plan: plan}, new(Sites))
						if err != nil || len(loops) != []int{5, 1}[i] || loops[0].Items != 2000 {
							t.Fatalf("%v, %v: %v, %v", p.Describe(), f, err, loops)
						}
						if err := p.Verify(k == 0); err != nil {
							t.Errorf("%v, %v: %v", p.Describe(), f, err)
						}
					}
				}
			}
			m.centres[3] += 1e-6
			h.have[2]++
			if m.Verify(false) == nil || h.Verify(false) == nil {
				t.Error("wrong results pass")
			}
		}
	}
	if _, err := newHistogram(t.Context(), start(t, 1), 10, 30, 4, 1, 1); err == nil {
		t.Error("2^60 cells")
	}
}

func TestSweep(t *testing.T) {
	rt := start(t, 2)
	for _, k := range Kinds() {
		p, err := New(t.Context(), rt, k, Size{Vertices: 500, Edges: 2000, Rows: 400, Features: 5, Points: 300, Dims: 3, Blocks: 4, Centres: 2, Iterations: 2, Bins: 3, Neighbours: 2, Seed: 8})
		if err != nil {
			t.Fatal(err)
		}
		runs, done := 0, 0
		cases := []Case{{}, {Plan: loop.Plan{Scheme: loop.SS, Grain: 10, Layout: loop.PerCore, Shares: true}}}
		if k.Formed() {
			cases = []Case{{Form: Rechunk}, {Form: Split, Plan: loop.Plan{Scheme: loop.GSS}}}
		}
		rows, err := Sweep(t.Context(), rt, p, cases, 3, func(run, of int) {
			if runs++; run != runs-1 || of != 6 {
				t.Error(run, of)
			}
		}, func(r *Row) { done++ })
		if err != nil || len(rows) != 2 || runs != 6 || done != 2 {
			t.Fatal(err, len(rows), runs, done)
		}
		for i := range rows {
			r := &rows[i]
			chunks, steals := r.Chunks()
			if len(r.Times) != 3 || r.Best() > r.Median() || chunks == 0 || steals > chunks || r.Imbalance() < 0 || r.Imbalance() >= 1 || (!k.Formed() || r.Form.Loops()) && len(r.Stolen()) != 2 {
				t.Errorf("%v: %+v", r.Plan, r)
			}
		}
		// The first case is Auto's, or has no plan; the rival is the other one of its form.
		rival := Rival(rows, 0)
		if k.Formed() != (rival == nil) || !k.Formed() && rival != &rows[1] {
			t.Errorf("%v: %v", k, rival)
		}
		if ratios, err := Pairs(t.Context(), rt, p, &rows[0], &rows[1], 2); err != nil || len(ratios) != 2 || ratios[0] <= 0 || ratios[0] > ratios[1] {
			t.Error(ratios, err)
		}
		if p.Bytes() == 0 || p.Describe() == "" {
			t.Error(p.Bytes(), p.Describe())
		}
	}
}

// BenchmarkComponents is a round of connected components on a graph of 2^20 vertices.
func BenchmarkComponents(b *testing.B) {
	rt := start(b, 0)
	g, err := adjacency(b.Context(), rt, NewRMAT(1<<20, 16<<20, 1))
	if err != nil {
		b.Fatal(err)
	}
	x := newComponents(g)
	best, sites := math.Inf(1), new(Sites)
	for b.Loop() {
		rounds, err := x.Run(b.Context(), rt, loop.Options{}, sites)
		if err != nil {
			b.Fatal(err)
		}
		for i := range rounds {
			best = min(best, rounds[i].Took.Seconds())
		}
	}
	b.ReportMetric(best*1e3, "best-ms/round")
	b.ReportMetric(float64(x.Bytes())/best/1e9, "GB/s") // each array is read or written once
}
