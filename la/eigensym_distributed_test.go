package la_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/kernels/tridiag"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/mat"
)

// symmetricAway returns a symmetric matrix on the nodes of rt, with the given layout. fill submits its elements.
func symmetricAway(t *testing.T, rt exec.Runtime, n, nb int, layout blocked.BlockCyclic, fill func(p *blocked.Program[float64], a *blocked.Matrix[float64]) error) *blocked.Matrix[float64] {
	t.Helper()
	a, err := blocked.Distributed[float64](rt, blocked.SymUpper, n, n, nb)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	if err := a.SetLayout(layout, layout.Processes()); err != nil {
		t.Fatal(err)
	}
	job := rt.NewJob(context.Background())
	if err := errors.Join(fill(blocked.NewProgram(job, kernels.For[float64](op.NewTable())), a), job.Wait()); err != nil {
		t.Fatal(err)
	}
	return a
}

// numbered fills a with random numbers, which nodes can make again.
func numbered(p *blocked.Program[float64], a *blocked.Matrix[float64]) error { return p.Plrnt(a, 7, 0) }

// elementsOf returns the function that fills a matrix with the elements of src.
func elementsOf(src mat.Symmetric) func(p *blocked.Program[float64], a *blocked.Matrix[float64]) error {
	return func(p *blocked.Program[float64], a *blocked.Matrix[float64]) error {
		here := blocked.New[float64](blocked.SymUpper, a.Dim(), a.Dim(), a.NB())
		for i := range a.Dim() {
			for j := i; j < a.Dim(); j++ {
				here.Set(i, j, src.At(i, j))
			}
		}
		return p.Load(a, here, blocked.LoadOptions{})
	}
}

// eigenAway returns the eigenvalues and the eigenvectors of a part of a on the nodes of rt.
func eigenAway(t *testing.T, rt exec.Runtime, a *blocked.Matrix[float64], vectors bool, opts ...la.CallOption) (values []float64, v *mat.Dense) {
	t.Helper()
	e, err := la.NewEngine(la.Options{Runtime: rt})
	if err != nil {
		t.Fatal(err)
	}
	c := la.NewEigenSym[float64](e)
	defer c.Reset()
	if err := c.Factorize(a, vectors, opts...); err != nil {
		t.Fatal(err)
	}
	if values = c.Values(nil); vectors && len(values) > 0 {
		v = new(mat.Dense)
		c.VectorsTo(v)
	}
	return values, v
}

// TestEigenSymDistributed: the bits are the same for any number of nodes, layout and way of getting the vectors, and the
// values are those of one process.
func TestEigenSymDistributed(t *testing.T) {
	const n, nb = 150, 16
	var want []float64
	var vectors *mat.Dense
	for agents, layout := range map[int]blocked.BlockCyclic{1: {}, 2: {P: 1, Q: 2}, 3: {P: 3, Q: 1}, 4: {P: 2, Q: 2}} {
		d, _ := nodes(t, agents, agents != 3)
		a := symmetricAway(t, d, n, nb, layout, numbered)
		sym := mat.NewSymDense(n, nil)
		for i := range n {
			for j := i; j < n; j++ {
				sym.SetSym(i, j, a.At(i, j))
			}
		}
		values, v := eigenAway(t, d, a, true)
		if residual, loss := eigenErrors(sym, values, v, 0x1p-52); !(residual < 30 && loss < 30) {
			t.Errorf("%d agents: residual %.3g, orthogonality %.3g", agents, residual, loss)
		}
		if want == nil {
			want, vectors = values, v
			one := la.NewEigenSym[float64](nil)
			if err := one.Factorize(sym, false); err != nil {
				t.Fatal(err)
			}
			if d := most(one.Values(nil), values); !(d <= 1e-12) {
				t.Errorf("the values are off those of one process by %g", d)
			}
		}
		if !slices.Equal(values, want) || !mat.Equal(v, vectors) {
			t.Errorf("%d agents: the bits are not those of another number", agents)
		}
		if i, j := n/nb, n/nb-1; a.Owner(j, i) != layout.Owner(j, i) {
			t.Errorf("%d agents: the layout has changed", agents)
		}

		e, err := la.NewEngine(la.Options{Runtime: d})
		if err != nil {
			t.Fatal(err)
		}
		c := la.NewEigenSym[float64](e)
		if err := c.Factorize(a, true, la.InPlace()); err != nil {
			t.Fatal(err)
		}
		if stages := c.Stages(); len(stages) != 5 || stages[0].Name != "reduction to band" || stages[4].Name != "back-transformation" {
			t.Errorf("stages %v", stages)
		}
		to, err := blocked.Distributed[float64](d, blocked.Full, n, n, 40)
		if err != nil {
			t.Fatal(err)
		}
		c.VectorsTo(to)
		if !mat.Equal(brought(to), vectors) || !slices.Equal(c.Values(nil), want) {
			t.Errorf("%d agents, in place: the bits are not those of a copy", agents)
		}
		if agents > 1 && to.Tile(0, 0).Data != nil {
			t.Error("the vectors have come to the driver")
		}
		if to.Close(); agents == 2 {
			other := mat.NewSymDense(n, nil)
			zero := symmetricAway(t, d, n, nb, layout, elementsOf(other))
			if err := c.Factorize(zero, false); err != nil || c.Values(nil)[n-1] != 0 {
				t.Errorf("the zero matrix after another one: %v", err)
			}
		}
		c.Reset()
	}
}

// most returns the largest difference between elements of x and y.
func most(x, y []float64) (d float64) {
	for i := range x {
		if !(math.Abs(x[i]-y[i]) <= d) {
			d = math.Abs(x[i] - y[i])
		}
	}
	return d
}

// TestEigenSymDistributedHard: orders around those of tiles and panels, and hostile matrices.
func TestEigenSymDistributedHard(t *testing.T) {
	d, _ := nodes(t, 2, true)
	rng := rand.New(rand.NewPCG(3, 4))
	check := func(what string, n, nb int, at func(i, j int) float64) {
		t.Helper()
		sym := mat.NewSymDense(max(n, 1), nil)
		for i := range n {
			for j := i; j < n; j++ {
				sym.SetSym(i, j, at(i, j))
			}
		}
		a := symmetricAway(t, d, n, nb, blocked.BlockCyclic{Q: 2}, elementsOf(sym))
		values, v := eigenAway(t, d, a, true)
		alone, _ := eigenAway(t, d, a, false)
		if len(values) != n || len(alone) != n {
			t.Fatalf("%s: %d values, %d alone", what, len(values), len(alone))
		}
		if n == 0 {
			return
		}
		one := la.NewEigenSym[float64](nil)
		if err := one.Factorize(sym, false, la.OneStage); err != nil {
			t.Fatal(err)
		}
		want := one.Values(nil)
		norm := max(math.Abs(want[0]), math.Abs(want[n-1]))
		if bound := 30 * float64(n) * 0x1p-52 * norm; !(most(values, want) <= bound && most(alone, want) <= bound) {
			t.Errorf("%s: the values are off those of one process by %g and %g, norm %g", what, most(values, want), most(alone, want), norm)
		}
		if residual, loss := eigenErrors(sym, values, v, 0x1p-52); !(residual < 30 && loss < 30) {
			t.Errorf("%s: residual %.3g, orthogonality %.3g", what, residual, loss)
		}
	}
	random := func(int, int) float64 { return rng.NormFloat64() }
	for _, size := range [][2]int{{0, 8}, {1, 8}, {2, 8}, {7, 8}, {8, 8}, {9, 8}, {17, 8}, {5, 1}, {47, 96}, {48, 96}, {49, 96}, {97, 96}, {70, 50}} {
		check(fmt.Sprint("order and tile size ", size), size[0], size[1], random)
	}
	for i, h := range hardMatrices {
		if testing.Short() && i%4 > 0 {
			continue
		}
		const n = 75
		check(h.name, n, 20, func(i, j int) float64 { return h.at(n, i, j, rng) })
	}
}

// TestEigenSymDistributedPart: a part has the values and the vectors of the whole.
func TestEigenSymDistributedPart(t *testing.T) {
	const n = 90
	d, _ := nodes(t, 2, true)
	a := symmetricAway(t, d, n, 10, blocked.BlockCyclic{Q: 2}, numbered)
	values, v := eigenAway(t, d, a, true)
	middle := values[20]
	for what, part := range map[string]struct {
		part        la.EigenPart
		first, last int
	}{
		"indices":       {la.EigenIndices(50, 60), 50, 60},
		"none":          {la.EigenIndices(5, 5), 5, 5},
		"interval":      {la.EigenInterval(middle+1e-9, math.Inf(1)), 21, n},
		"empty":         {la.EigenInterval(1e9, math.Inf(1)), 0, 0},
		"upper is open": {la.EigenInterval(math.Inf(-1), middle-1e-9), 0, 20},
	} {
		for _, vectors := range []bool{false, true} {
			got, w := eigenAway(t, d, a, vectors, part.part)
			if len(got) != part.last-part.first || most(got, values[part.first:part.last]) > 1e-12 {
				t.Errorf("%s: values %v", what, got)
			}
			if w != nil && !mat.Equal(w, v.Slice(0, n, part.first, part.last)) {
				t.Errorf("%s: the vectors are not those of the whole", what)
			}
		}
	}
}

// TestEigenSymDistributedErrors: what cannot be decomposed on nodes is refused by type, before anything is overwritten.
func TestEigenSymDistributedErrors(t *testing.T) {
	d, _ := nodes(t, 2, true)
	e, err := la.NewEngine(la.Options{Runtime: d})
	if err != nil {
		t.Fatal(err)
	}
	const n = 30
	sym := mat.NewSymDense(n, nil)
	sym.SetSym(11, 20, math.NaN())
	nan := symmetricAway(t, d, n, 8, blocked.BlockCyclic{}, elementsOf(sym))
	good := symmetricAway(t, d, n, 8, blocked.BlockCyclic{}, numbered)
	full, err := blocked.Distributed[float64](d, blocked.Full, n, n, 8)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	was := brought(good)
	c := la.NewEigenSym[float64](e)
	defer c.Reset()
	refused := func(what string, err error, as any) {
		t.Helper()
		if !errors.As(err, as) || !c.IsEmpty() {
			t.Errorf("%s: %v, empty %t", what, err, c.IsEmpty())
		}
	}
	var nonFinite *la.NonFiniteError
	var shape *la.ShapeError
	var options *la.OptionsError
	for _, vectors := range []bool{false, true} {
		refused("a NaN", c.Factorize(nan, vectors), &nonFinite)
		refused("a NaN in place", c.Factorize(nan, vectors, la.InPlace()), &nonFinite)
	}
	if nonFinite.Row != 11 || nonFinite.Col != 20 {
		t.Errorf("a NaN: %v", nonFinite)
	}
	refused("a Full matrix", c.Factorize(full, true), &shape)
	refused("a Full matrix in place", c.Factorize(full, true, la.InPlace()), &shape)
	refused("a matrix in memory in place", c.Factorize(sym, true, la.InPlace()), &shape)
	refused("one stage", c.Factorize(good, true, la.OneStage), &options)
	cancelled, cancel := context.WithCancelCause(context.Background())
	cancel(errBroken)
	if err := c.Factorize(good, true, la.WithContext(cancelled), la.InPlace()); err != errBroken || !c.IsEmpty() {
		t.Errorf("an ended context: %v", err)
	}
	if !mat.Equal(brought(good), was) {
		t.Error("a refused matrix has been overwritten")
	}
	if err := la.NewEigenSym[float64](nil).Factorize(good, true); err != blocked.ErrAway {
		t.Errorf("an engine without nodes: %v", err)
	}
	if err := la.NewEigenSymGeneralized[float64](e).Factorize(good, mat.NewSymDense(n, nil), true); err != blocked.ErrAway {
		t.Errorf("a generalized problem: %v", err)
	}
}

// TestEigenSymDistributedConvergence: that an iteration on a node has not converged is told as it is in one process.
func TestEigenSymDistributedConvergence(t *testing.T) {
	d, _ := nodesWith(t, 2, func(o *cluster.Options) {
		o.Idle = true
		for _, x := range o.Ops {
			for i := range x.Versions {
				if x.Name == "laed0" {
					x.Versions[i].Run = func(*versions.Call) error { return &tridiag.ConvergenceError{Found: 3, Order: 50} }
				}
			}
		}
	})
	e, err := la.NewEngine(la.Options{Runtime: d})
	if err != nil {
		t.Fatal(err)
	}
	c := la.NewEigenSym[float64](e)
	var failed *la.ConvergenceError
	if err := c.Factorize(symmetricAway(t, d, 100, 16, blocked.BlockCyclic{Q: 2}, numbered), true); !errors.As(err, &failed) || failed.Found != 3 || !c.IsEmpty() {
		t.Errorf("error %v, empty %t", err, c.IsEmpty())
	}
}

// TestEigenSymDistributedLost: in each stage, the node that is at work there is lost. The bits stay the same.
func TestEigenSymDistributedLost(t *testing.T) {
	const n, nb = 100, 16
	var want []float64
	var vectors *mat.Dense
	for _, at := range []struct {
		op   string
		call int64
	}{{"", 0}, {"sy2sbmm", 9}, {"sy2sbqr", 4}, {"sb2st", 1}, {"laed0", 2}, {"laed4", 3}, {"laed3", 2}, {"recut", 1}, {"ormsb2st", 1}, {"ormsy2sb", 2}} {
		var calls atomic.Int64
		var kill []context.CancelFunc
		started := 0
		d, all := nodesWith(t, 3, func(o *cluster.Options) {
			o.Idle, o.Owner = true, true
			me := started
			started++
			for _, x := range o.Ops {
				if x.Name != at.op {
					continue
				}
				for i := range x.Versions {
					run := x.Versions[i].Run
					x.Versions[i].Run = func(call *versions.Call) error {
						if calls.Add(1) == at.call {
							kill[me]()
						}
						return run(call)
					}
				}
			}
		})
		kill = all
		values, v := eigenAway(t, d, symmetricAway(t, d, n, nb, blocked.BlockCyclic{Q: 3}, numbered), true)
		if at.op == "" {
			want, vectors = values, v
			continue
		}
		if calls.Load() < at.call {
			t.Errorf("%s was not called", at.op)
		}
		if !slices.Equal(values, want) || !mat.Equal(v, vectors) {
			t.Errorf("a node lost in %s: the bits are others", at.op)
		}
	}
}
