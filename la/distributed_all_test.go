package la_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/qr"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/mat"
)

// away returns a distributed copy of src on the nodes of rt, by a P×Q grid of them.
func away(t *testing.T, rt exec.Runtime, src *blocked.Matrix[float64], p, q int) *blocked.Matrix[float64] {
	t.Helper()
	m, n := src.Dims()
	a, err := blocked.Distributed[float64](rt, src.Kind(), m, n, src.NB())
	if err == nil {
		err = a.SetLayout(blocked.BlockCyclic{P: p, Q: q}, p*q)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	job := rt.NewJob(context.Background())
	if err := errors.Join(blocked.NewProgram(job, kernels.For[float64](op.NewTable())).Load(a, src, blocked.LoadOptions{}), job.Wait()); err != nil {
		t.Fatal(err)
	}
	return a
}

// waves returns a matrix here, the same on each call.
func waves(kind blocked.Kind, m, n, nb int) *blocked.Matrix[float64] {
	a := blocked.New[float64](kind, m, n, nb)
	for i, j := range a.StoredTiles() {
		tile := a.Tile(i, j)
		for r := range tile.Rows {
			for c := range tile.Cols {
				g, h := i*nb+r, j*nb+c
				if kind != blocked.Full {
					g, h = min(g, h), max(g, h)
				}
				tile.Set(r, c, math.Sin(float64(1+7*g*g+13*h+g*h)))
				if g == h && kind != blocked.Full {
					tile.Set(r, c, float64(n))
				}
			}
		}
	}
	return a
}

// same fails t unless two matrices have the same bits.
func same(t *testing.T, what string, got, want *blocked.Matrix[float64]) {
	t.Helper()
	m, n := want.Dims()
	for i := range m {
		for j := range n {
			if math.Float64bits(got.At(i, j)) != math.Float64bits(want.At(i, j)) {
				t.Fatalf("%s: (%d, %d) is %v, want %v", what, i, j, got.At(i, j), want.At(i, j))
			}
		}
	}
}

// TestGrids: LU with each pivoting and QR in each tree have the bits of one machine on four
// nodes in a 2×2, a 1×4 and a 4×1 grid.
func TestGrids(t *testing.T) {
	const m, n, nb, nrhs = 70, 60, 8, 3
	d, _ := nodes(t, 4, true)
	one, err := exec.NewLocal(exec.Options{Workers: 2, Float: true})
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	ctx := context.Background()
	type solution struct{ factor, x *blocked.Matrix[float64] }
	lu := func(rt exec.Runtime, pivoting la.Pivoting, p, q int) (s solution, swaps []int) {
		t.Helper()
		e, err := la.NewEngine(la.Options{Runtime: rt, NB: nb})
		if err != nil {
			t.Fatal(err)
		}
		a := away(t, rt, waves(blocked.Full, n, n, nb), p, q)
		b := away(t, rt, waves(blocked.Full, n, nrhs, nb), p, q)
		f, err := la.NewLUWith[float64](e, la.LUOptions{Pivoting: pivoting, GrowthLimit: 1e300})
		if err == nil {
			err = errors.Join(f.Factorize(a, la.WithContext(ctx), la.InPlace()), f.SolveTo(b, false, b, la.WithContext(ctx), la.InPlace()))
		}
		if err != nil {
			t.Fatalf("%v on %d×%d: %v", pivoting, p, q, err)
		}
		return solution{a, b}, append(f.Swaps(nil), int(math.Float64bits(f.Growth())))
	}
	qrOn := func(rt exec.Runtime, tree qr.Tree, p, q int) solution {
		t.Helper()
		e, err := la.NewEngine(la.Options{Runtime: rt, NB: nb})
		if err != nil {
			t.Fatal(err)
		}
		a := away(t, rt, waves(blocked.Full, m, n, nb), p, q)
		b, x := away(t, rt, waves(blocked.Full, m, nrhs, nb), p, q), away(t, rt, waves(blocked.Full, n, nrhs, nb), p, q)
		opt := la.QROptions{Tree: tree}
		if tree == qr.TreeDomains {
			opt.Domain = 3
		}
		f, err := la.NewQRWith[float64](e, opt)
		if err == nil {
			err = errors.Join(f.Factorize(a, la.WithContext(ctx), la.InPlace()), f.SolveTo(x, false, b, la.WithContext(ctx), la.InPlace()))
		}
		if err != nil {
			t.Fatalf("%v on %d×%d: %v", tree, p, q, err)
		}
		return solution{a, x}
	}
	for _, pivoting := range []la.Pivoting{la.PartialPivoting, la.TournamentPivoting, la.TilePivoting} {
		want, swaps := lu(one, pivoting, 2, 2)
		for _, grid := range [][2]int{{2, 2}, {1, 4}, {4, 1}} {
			got, s := lu(d, pivoting, grid[0], grid[1])
			what := fmt.Sprintf("%v on %v", pivoting, grid)
			same(t, what+", factors", got.factor, want.factor)
			same(t, what+", solution", got.x, want.x)
			if fmt.Sprint(s) != fmt.Sprint(swaps) {
				t.Errorf("%s: swaps %v, want %v", what, s, swaps)
			}
		}
	}
	for _, tree := range []qr.Tree{qr.TreeFlat, qr.TreeBinary, qr.TreeGreedy, qr.TreeDomains} {
		want := qrOn(one, tree, 2, 2)
		for _, grid := range [][2]int{{2, 2}, {1, 4}, {4, 1}} {
			got, what := qrOn(d, tree, grid[0], grid[1]), fmt.Sprintf("%v on %v", tree, grid)
			same(t, what+", factors", got.factor, want.factor)
			same(t, what+", solution", got.x, want.x)
		}
	}
}

// TestScatterGather: each tile of the user's matrix goes out once, to one node, and comes
// back once.
func TestScatterGather(t *testing.T) {
	const m, n, nb = 130, 90, 16
	d, _ := nodes(t, 3, true)
	in := func() (agents, driver int64) {
		for _, u := range d.Usage() {
			if u.Node == "driver" {
				driver += u.In
			} else {
				agents += u.In
			}
		}
		return agents, driver
	}
	for _, kind := range []blocked.Kind{blocked.Full, blocked.SymUpper, blocked.TriLower} {
		rows := m
		if kind != blocked.Full {
			rows = n
		}
		src := waves(kind, rows, n, nb)
		agents, driver := in()
		a := away(t, d, src, 3, 1)
		dense := mat.NewDense(rows, n, nil)
		a.CopyTo(dense, 2)
		for i := range rows {
			for j := range n {
				if dense.At(i, j) != src.At(i, j) {
					t.Fatalf("%v: (%d, %d) is %v, want %v", kind, i, j, dense.At(i, j), src.At(i, j))
				}
			}
		}
		out, back := in()
		if out -= agents; out != src.Bytes() {
			t.Errorf("%v: %d bytes were scattered, want %d", kind, out, src.Bytes())
		}
		if back -= driver; back != src.Bytes() {
			t.Errorf("%v: %d bytes were gathered, want %d", kind, back, src.Bytes())
		}
	}
}

// brought returns a copy of a here.
func brought(a *blocked.Matrix[float64]) *mat.Dense {
	m, n := a.Dims()
	d := mat.NewDense(m, n, nil)
	a.CopyTo(d, 1)
	return d
}

// keeping is a driver that counts the sets of data that are kept.
type keeping struct {
	*cluster.Driver
	sets *atomic.Int64
}

type keptSet struct {
	exec.Kept
	sets *atomic.Int64
}

func (c keeping) Keep(values []versions.Shaped) (exec.Kept, error) {
	k, err := c.Driver.Keep(values)
	c.sets.Add(1)
	return keptSet{k, c.sets}, err
}

// fetched returns how many bytes the driver has fetched.
func (c keeping) fetched() (bytes int64) {
	for _, u := range c.Usage() {
		if u.Node == "driver" {
			bytes += u.In
		}
	}
	return bytes
}

func (c keptSet) Release() {
	c.sets.Add(-1)
	c.Kept.Release()
}

// TestDistributedList: what la does with distributed matrices, it does right or refuses by
// type. What computes in place is tested by its bits in TestDistributed.
func TestDistributedList(t *testing.T) {
	const n, nrhs, nb = 30, 4, 8
	ctx := context.Background()
	driver, _ := nodes(t, 2, false)
	d := keeping{driver, new(atomic.Int64)}
	e, err := la.NewEngine(la.Options{Runtime: d, NB: nb})
	if err != nil {
		t.Fatal(err)
	}
	here := map[string]*blocked.Matrix[float64]{
		"general": waves(blocked.Full, n, n, nb), "spd": waves(blocked.SymUpper, n, n, nb), "tall": waves(blocked.Full, 2*n, n, nb),
		"upper": waves(blocked.TriUpper, n, n, nb), "lower": waves(blocked.TriLower, n, n, nb),
		"spd, lower": waves(blocked.SymLower, n, n, nb), "indefinite": waves(blocked.SymUpper, n, n, nb), "wide": waves(blocked.Full, n, 2*n, nb),
		"b, 5": waves(blocked.Full, n, nrhs, 5), "b": waves(blocked.Full, n, nrhs, nb), "b2": waves(blocked.Full, 2*n, nrhs, nb),
	}
	here["indefinite"].Set(n-1, n-1, 0.1)
	there := map[string]*blocked.Matrix[float64]{}
	for name, a := range here {
		there[name] = away(t, d, a, 1, 2)
	}
	// Each call reads distributed matrices, or those here, and writes to memory here.
	reads := map[string]func(of map[string]*blocked.Matrix[float64], dst *mat.Dense) error{
		"Gemm": func(of map[string]*blocked.Matrix[float64], dst *mat.Dense) error {
			return la.Gemm[float64](ctx, e, blas.NoTrans, blas.NoTrans, 1, of["general"], of["b"], 0, dst)
		},
		"SolveSPD": func(of map[string]*blocked.Matrix[float64], dst *mat.Dense) error {
			_, err := la.SolveSPD(ctx, e, dst, of["spd"], of["b"])
			return err
		},
		"SolveGeneral": func(of map[string]*blocked.Matrix[float64], dst *mat.Dense) error {
			_, err := la.SolveGeneral(ctx, e, dst, of["general"], of["b"])
			return err
		},
		"Cholesky": func(of map[string]*blocked.Matrix[float64], dst *mat.Dense) error {
			c := la.NewCholesky[float64](e)
			return errors.Join(c.Factorize(of["spd"]), c.SolveTo(dst, of["b"]))
		},
		"LU": func(of map[string]*blocked.Matrix[float64], dst *mat.Dense) error {
			f := la.NewLU[float64](e)
			return errors.Join(f.Factorize(of["general"]), f.SolveTo(dst, true, of["b"]))
		},
		"QR": func(of map[string]*blocked.Matrix[float64], dst *mat.Dense) error {
			q := la.NewQR[float64](e)
			return errors.Join(q.Factorize(of["tall"]), q.SolveTo(dst, false, of["b2"]))
		},
	}
	for name, call := range reads {
		var got, want mat.Dense
		if err := errors.Join(call(here, &want), call(there, &got)); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !mat.EqualApprox(&got, &want, 1e-12) {
			t.Errorf("%s: what is computed of distributed matrices differs", name)
		}
	}

	// What solves does so on the nodes, for B here and there, and X here and there.
	solves := []struct{ a, b string }{
		{"general", "b"}, {"general", "b, 5"}, {"spd", "b"}, {"spd, lower", "b"}, {"indefinite", "b"}, {"upper", "b"}, {"lower", "b"}, {"tall", "b2"}, {"wide", "b"},
	}
	before := d.sets.Load()
	for _, s := range solves {
		_, height := here[s.a].Dims()
		for name, solve := range map[string]func(dst, a, b *blocked.Matrix[float64]) error{
			"Solve": func(dst, a, b *blocked.Matrix[float64]) error {
				_, err := la.Solve[float64](ctx, e, dst, a, b)
				return err
			},
			"LeastSquares": func(dst, a, b *blocked.Matrix[float64]) error { return la.LeastSquares[float64](ctx, e, dst, a, b) },
		} {
			want := blocked.New[float64](blocked.Full, height, nrhs, nb)
			if err := solve(want, here[s.a], here[s.b]); err != nil {
				t.Fatalf("%s, %s: %v", name, s.a, err)
			}
			if name == "LeastSquares" && s.a != "tall" && s.a != "wide" && s.a != "spd" && s.a != "lower" {
				continue
			}
			for k := range 2 {
				var b, x = here[s.b], blocked.New[float64](blocked.Full, height, nrhs, nb)
				if k == 1 {
					b, x = there[s.b], away(t, d, x, 1, 2)
				}
				if err := solve(x, there[s.a], b); err != nil {
					t.Errorf("%s, %s, %d: %v", name, s.a, k, err)
				} else if !mat.EqualApprox(brought(x), brought(want), 1e-11) {
					t.Errorf("%s, %s, %d: the solution is another one", name, s.a, k)
				}
				if k == 1 && s.a == "tall" { // and of a matrix here
					if err := solve(x, here[s.a], here[s.b]); err != nil || !mat.EqualApprox(brought(x), brought(want), 1e-11) {
						t.Errorf("%s, %s: of a matrix here: %v", name, s.a, err)
					}
				}
				x.Close()
			}
		}
	}
	for _, name := range []string{"general", "spd", "spd, lower", "indefinite", "upper", "lower"} {
		want, x := blocked.New[float64](blocked.Full, n, n, nb), away(t, d, here["general"], 1, 2)
		report, err := la.Inverse[float64](ctx, e, want, here[name])
		again, err2 := la.Inverse[float64](ctx, e, x, there[name])
		if err := errors.Join(err, err2); err != nil || again != report {
			t.Fatalf("%s: %v, %+v, want %+v", name, err, again, report)
		}
		if !mat.EqualApprox(brought(x), brought(want), 1e-11) {
			t.Errorf("%s: the inverse is another one", name)
		}
		x.Close()
		cond, err := la.Cond[float64](ctx, e, here[name], lapack.MaxRowSum)
		got, err2 := la.Cond[float64](ctx, e, there[name], lapack.MaxRowSum)
		if err := errors.Join(err, err2); err != nil || !(math.Abs(got-cond) <= 1e-9*cond) {
			t.Errorf("%s: condition %v, want %v: %v", name, got, cond, err)
		}
	}
	// Of a larger one no more comes here than sums of tiles and the diagonal.
	const order, size = 256, 32
	x := away(t, d, waves(blocked.Full, order, nrhs, size), 2, 1)
	a := away(t, d, waves(blocked.Full, order, order, size), 2, 1)
	fetched := d.fetched()
	if _, err := la.Solve[float64](ctx, e, x, a, x); err != nil {
		t.Error(err)
	}
	if got := d.fetched() - fetched; got > a.Bytes()/2 {
		t.Errorf("the driver has fetched %d bytes, and A has %d", got, a.Bytes())
	}
	x.Close()
	a.Close()
	for name, a := range here {
		same(t, name, there[name], a)
	}
	if after := d.sets.Load(); after != before {
		t.Errorf("%d matrices are kept that nobody has", after-before)
	}

	// Results that are written to a distributed matrix element by element are refused.
	into := map[string]func(dst *blocked.Matrix[float64]) error{
		"SolveSPD": func(dst *blocked.Matrix[float64]) error {
			_, err := la.SolveSPD(ctx, e, dst, here["spd"], here["b"])
			return err
		},
		"CopyTo": func(dst *blocked.Matrix[float64]) error { here["b"].CopyTo(dst, 1); return nil },
		"Set":    func(dst *blocked.Matrix[float64]) error { dst.Set(0, 0, 1); return nil },
		"Zero":   func(dst *blocked.Matrix[float64]) error { dst.Zero(); return nil },
	}
	for name, call := range into {
		if r := panics(func() { err = call(there["b"]) }); r != blocked.ErrAway {
			t.Errorf("%s: panics with %v, returns %v, want ErrAway", name, r, err)
		}
	}

	// Nothing works after Close.
	closed := away(t, d, here["general"], 1, 2)
	if err := errors.Join(closed.Close(), closed.Close()); err != nil {
		t.Error(err)
	}
	after := map[string]func(){
		"At":        func() { closed.At(0, 0) },
		"CopyTo":    func() { closed.CopyTo(mat.NewDense(n, n, nil), 1) },
		"Gemm":      func() { la.Gemm[float64](ctx, e, blas.NoTrans, blas.NoTrans, 1, closed, there["b"], 0, there["b"]) },
		"Norm":      func() { la.Norm[float64](e, closed, lapack.MaxAbs) },
		"Factorize": func() { la.NewLU[float64](e).Factorize(closed, la.WithContext(ctx), la.InPlace()) },
	}
	for name, call := range after {
		if r := panics(call); r != blocked.ErrReleased {
			t.Errorf("%s after Close: panics with %v, want ErrReleased", name, r)
		}
	}
}
