package csr_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/csr"
	"github.com/tessera-la/tessera/la/krylov"
	"github.com/tessera-la/tessera/versions"
	"go.uber.org/goleak"
)

// TestDistributedCG: conjugate gradients on a matrix that the nodes have made themselves have the
// bits of those on one machine, also if a node is killed meanwhile. Nothing of the matrix goes
// through the driver, and of vectors only b and x.
func TestDistributedCG(t *testing.T) {
	const blocks = 4
	for _, c := range []struct {
		name           string
		agents, side   int
		overHTTP, kill bool
	}{{"in process", 2, 40, false, false}, {"killed", 3, 16, false, true}, {"HTTP", 2, 16, true, false}, {"HTTP, killed", 3, 16, true, true}} {
		t.Run(c.name, func(t *testing.T) {
			made, side := &counts{}, c.side
			d, kill := nodes(t, c.agents, c.overHTTP, func(node string) []*versions.Op { return []*versions.Op{gridOp(node, made)} },
				func(o *cluster.Options) { o.Owner, o.Stay = c.kill, c.kill }) // so that only one has what is killed
			a, here := generate(t, d, side, blocks, made)
			victim := ""
			for node := range made.of {
				victim = node
			}
			if made.sum() != blocks || victim == "driver" {
				t.Errorf("%v have made %d blocks", made.of, blocks)
			}
			b := vector(side*side, 1)
			x, want := make([]float64, side*side), make([]float64, side*side)
			result, err := krylov.CG(t.Context(), a, x, b, krylov.CGOptions{Observe: func(k int, _ float64) {
				if c.kill && k == 5 {
					kill[victim[len(victim)-1]-'0']()
				}
			}})
			if err != nil {
				t.Fatal(err)
			}
			expected, err := krylov.CG(t.Context(), here, want, b, krylov.CGOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(x, want) || result != expected {
				t.Errorf("%+v, and %+v on one machine", result, expected)
			}
			if c.kill != (made.sum() > blocks) {
				t.Errorf("%v have made %d blocks, after a node was killed: %v", made.of, blocks, c.kill)
			}
			if n := moved(d, "A") + moved(d, "v"); n != 0 {
				t.Errorf("%d bytes of the matrix and of vectors went through the driver", n)
			}
			_, driver := traffic(d)
			if most := int64(4*8*side*side + (result.Iterations+2)*2*blocks*1400); driver > most {
				t.Errorf("%d bytes went through the driver in %d iterations, want at most %d", driver, result.Iterations, most)
			}
		})
	}
}

// TestDistributedMethods: the other methods for square matrices have the bits of one machine, too, and exchange only
// numbers with the nodes.
func TestDistributedMethods(t *testing.T) {
	const side, blocks = 12, 4
	made := &counts{}
	d, _ := nodes(t, 2, false, func(node string) []*versions.Op { return []*versions.Op{gridOp(node, made)} }, nil)
	a, here := generate(t, d, side, blocks, made)
	b := vector(side*side, 1)
	for name, solve := range map[string]func(a krylov.Operator, x []float64) (int, error){
		"GMRES": func(a krylov.Operator, x []float64) (int, error) {
			r, err := krylov.GMRES(t.Context(), a, x, b, krylov.GMRESOptions{Restart: 12, Tolerance: 1e-6})
			return r.Iterations, err
		},
		"BiCGSTAB": func(a krylov.Operator, x []float64) (int, error) {
			r, err := krylov.BiCGSTAB(t.Context(), a, x, b, krylov.BiCGSTABOptions{})
			return r.Iterations, err
		},
		"MINRES": func(a krylov.Operator, x []float64) (int, error) {
			r, err := krylov.MINRES(t.Context(), a, x, b, krylov.MINRESOptions{})
			return r.Iterations, err
		},
	} {
		x, want := vector(side*side, 2), vector(side*side, 2)
		many, err := solve(a, x)
		expected, err2 := solve(here, want)
		if err := errors.Join(err, err2); err != nil || many != expected || !slices.Equal(x, want) {
			t.Errorf("%s: %v, %d iterations, and %d on one machine; or other bits", name, err, many, expected)
		}
	}
	if n := moved(d, "A") + moved(d, "v"); n != 0 {
		t.Errorf("%d bytes of the matrix and of vectors went through the driver", n)
	}
}

// TestDistributedILU: on nodes, too, an iteration with a preconditioner has the bits of one machine, also if a node is
// killed meanwhile; M is that of NewBlockJacobi with NewILU; and all vectors stay on the nodes.
func TestDistributedILU(t *testing.T) {
	const side, blocks = 16, 4
	for _, killed := range []bool{false, true} {
		made := &counts{}
		d, kill := nodes(t, 3, false, func(node string) []*versions.Op { return []*versions.Op{gridOp(node, made)} },
			func(o *cluster.Options) { o.Owner, o.Stay = killed, killed })
		a, whole := generate(t, d, side, blocks, made)
		victim := ""
		for node := range made.of {
			victim = node
		}
		here, _ := generate(t, start(t, 2), side, blocks, &counts{})
		b, n := vector(side*side, 1), side*side
		var results []krylov.CGResult
		var xs [][]float64
		for _, a := range []*csr.Distributed{here, a} {
			m, err := csr.NewDistributedILU(t.Context(), a)
			if err != nil {
				t.Fatal(err)
			}
			x := make([]float64, n)
			r, err := krylov.CG(t.Context(), a, x, b, krylov.CGOptions{Preconditioner: m, Observe: func(k int, _ float64) {
				if killed && k == 5 && a != here {
					kill[victim[len(victim)-1]-'0']()
				}
			}})
			if err != nil {
				t.Fatal(err)
			}
			results, xs = append(results, r), append(xs, x)
			z := make([]float64, n)
			if err := m.SolveVecTo(t.Context(), z, b); err != nil {
				t.Fatal(err)
			}
			jacobi, err := csr.NewBlockJacobi(whole, csr.BlockJacobiOptions{Size: n / blocks, Solver: func(b *csr.Matrix) (krylov.Preconditioner, error) { return csr.NewILU(b, csr.ILUOptions{}) }})
			if err != nil {
				t.Fatal(err)
			}
			want := make([]float64, n)
			if err := jacobi.SolveVecTo(t.Context(), want, b); err != nil || distance(z, want) > 1e-13*norm(want) {
				t.Errorf("M⁻¹·b differs by %v, %v", distance(z, want), err)
			}
			m.Close()
			if fault := panicOf(func() { m.SolveVecTo(t.Context(), z, b) }); fault != blocked.ErrReleased {
				t.Error(fault)
			}
		}
		if killed != (made.sum() > blocks) {
			t.Errorf("%v have made %d blocks, after a node was killed: %v", made.of, blocks, killed)
		}
		plain, err := krylov.CG(t.Context(), whole, make([]float64, n), b, krylov.CGOptions{})
		if err != nil || !slices.Equal(xs[0], xs[1]) || results[0] != results[1] || results[0].Iterations >= plain.Iterations*3/4 {
			t.Errorf("%v: %+v, without %+v; the same bits: %v", err, results, plain, slices.Equal(xs[0], xs[1]))
		}
		if n := moved(d, "A") + moved(d, "v"); n != 0 {
			t.Errorf("%d bytes of matrices and of vectors went through the driver", n)
		}
	}
}

// TestDistributedILUOf: columns in any order, some of them twice, and what cannot be factored says why.
func TestDistributedILUOf(t *testing.T) {
	entries := unsymmetric(60, 4)
	rt := start(t, 2)
	whole := entries.matrix(t, rt)
	a, err := csr.Generate(t.Context(), rt, 60, []csr.Size{{Rows: 60, Entries: len(entries.v)}}, &versions.Op{Name: "any", NewParams: func() any { return new(grid) }, Versions: []versions.Version{{Name: "go", Run: func(call *versions.Call) error {
		return call.Args[0].(*csr.Block).Fill(func(i int, add func(int, float64)) {
			for k := len(entries.v) - 1; k >= 0; k-- {
				if entries.i[k] == i {
					add(entries.j[k], entries.v[k])
				}
			}
		})
	}}}}, func(int) any { return new(grid) })
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	m, err := csr.NewDistributedILU(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	ilu, err := csr.NewILU(whole, csr.ILUOptions{})
	if err != nil {
		t.Fatal(err)
	}
	x, want, b := make([]float64, 60), make([]float64, 60), vector(60, 1)
	if err := errors.Join(m.SolveVecTo(t.Context(), x, b), ilu.SolveVecTo(t.Context(), want, b)); err != nil || distance(x, want) > 1e-12*norm(want) {
		t.Errorf("%v, differ by %v", err, distance(x, want))
	}
	if err := m.SolveVecTo(t.Context(), x, b[:3]); !isShape(err) {
		t.Error(err)
	}
	// Another matrix has other vectors: then M is applied in memory.
	other, err := csr.Scatter(t.Context(), rt, whole, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if r, err := krylov.GMRES(t.Context(), other, x, b, krylov.GMRESOptions{Preconditioner: m}); err != nil || r.Iterations > 20 {
		t.Error(r, err)
	}
	d, _ := nodes(t, 2, false, nil, nil)
	for what, v := range map[string]float64{"zero": 0, "NaN": math.NaN()} {
		bad, err := csr.FromCOO(start(t, 1), 4, 4, []int{0, 1, 2, 3, 3}, []int{0, 1, 2, 3, 0}, []float64{1, 1, 1, v, 1})
		if err != nil {
			t.Fatal(err)
		}
		a, err := csr.Scatter(t.Context(), d, bad, 2)
		if err != nil {
			t.Fatal(err)
		}
		_, err = csr.NewDistributedILU(t.Context(), a)
		if e, ok := errors.AsType[*csr.PivotError](err); !ok || e.Row != 3 || e.Pivot == 1 {
			t.Errorf("%s: %v", what, err)
		}
		a.Close()
	}
	wide, err := csr.FromCOO(rt, 2, 3, nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	w, err := csr.Scatter(t.Context(), rt, wide, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := csr.NewDistributedILU(t.Context(), w); !isShape(err) {
		t.Error(err)
	}
}

func isShape(err error) bool {
	_, ok := errors.AsType[*la.ShapeError](err)
	return ok
}

// traffic returns the bytes that nodes have fetched, and those from the driver and to it.
func traffic(d *cluster.Driver) (all, driver int64) {
	for _, u := range d.Usage() {
		if all += u.In; u.Node == "driver" {
			driver += u.In + u.Out
		}
	}
	return all, driver
}

// TestDistributedWide: where each block needs a little of each part of x, a slice of a part goes once
// to each node, for all of its blocks, and none to where the part is.
func TestDistributedWide(t *testing.T) { synctest.Test(t, wide) }

func wide(t *testing.T) {
	const blocks, all, rows, products = 9, 3, 64, 4
	row := func(i int, add func(col int, v float64)) {
		for b := range blocks {
			add(b*rows+i/rows, float64(1+b)) // of each part another element than the other blocks
		}
	}
	op := &versions.Op{Name: "wide", NewParams: func() any { return new(grid) }, Versions: []versions.Version{{Name: "go", Run: func(call *versions.Call) error {
		first := call.Params.(*grid).First
		return call.Args[0].(*csr.Block).Fill(func(i int, add func(int, float64)) { row(first+i, add) })
	}}}}
	d, _ := nodes(t, all-1, false, func(string) []*versions.Op { return []*versions.Op{op} }, func(o *cluster.Options) { o.Owner, o.Stay, o.Idle = true, true, false })
	a, err := csr.Generate(t.Context(), d, blocks*rows, slices.Repeat([]csr.Size{{Rows: rows, Entries: rows * blocks}}, blocks), op, func(b int) any { return &grid{First: b * rows} })
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	x := make([]float64, blocks*rows)
	for i := range x {
		x[i] = float64(i % 5) // all sums are exact
	}
	want := slices.Clone(x)
	vs, err := a.Vectors(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	from, to := vs.Load(x), vs.New(len(x))
	for range products {
		if err := vs.MulVecTo(to, false, from); err != nil {
			t.Fatal(err)
		}
		from, to = to, from
		y := make([]float64, len(x))
		for i := range y {
			row(i, func(col int, v float64) { y[i] += v * want[col] })
		}
		want = y
	}
	if err := vs.Close(from); err != nil || !slices.Equal(x, want) {
		t.Errorf("%v, or wrong", err)
	}
	sent, bytes := 0, int64(0)
	for _, u := range d.Usage() {
		sent += u.Tasks["csrslice/f64"]
		for _, f := range u.Flows {
			if f.Data == "v" {
				bytes += f.Bytes
			}
		}
	}
	// Beside the slices, x is taken apart and put together.
	each := products * blocks * (all - 1)
	if most := int64(8 * (each*blocks/all + blocks*rows)); sent > each+2*blocks || bytes > most {
		t.Errorf("%d slices, want at most %d; %d bytes went to other nodes, want at most %d", sent, each+2*blocks, bytes, most)
	}
}

// TestDistributedCGEnds: when the context ends x is that of the last iteration, and what the nodes
// had is forgotten.
func TestDistributedCGEnds(t *testing.T) { synctest.Test(t, cgEnds) } // in virtual time: tasks have a limit

func cgEnds(t *testing.T) {
	const side = 24
	made, cause := &counts{}, errors.New("enough")
	d, _ := nodes(t, 2, false, func(node string) []*versions.Op { return []*versions.Op{gridOp(node, made)} }, nil)
	a, here := generate(t, d, side, 6, made)
	for _, rt := range []exec.Runtime{d, start(t, 2)} {
		a := a
		if rt != exec.Runtime(d) {
			a, here = generate(t, rt, side, 6, made)
		}
		b := vector(side*side, 1)
		x, want := vector(side*side, 2), vector(side*side, 2)
		ctx, cancel := context.WithCancelCause(t.Context())
		_, err := krylov.CG(ctx, a, x, b, krylov.CGOptions{Observe: func(k int, _ float64) {
			if k == 7 {
				cancel(cause)
			}
		}})
		var most *krylov.ConvergenceError
		if _, err := krylov.CG(t.Context(), here, want, b, krylov.CGOptions{MaxIterations: 7}); !errors.As(err, &most) {
			t.Fatal(err)
		}
		if err != cause || !slices.Equal(x, want) {
			t.Errorf("%v; x is that of the last iteration: %v", err, slices.Equal(x, want))
		}
	}
}

// twice is a matrix times 2.
type twice struct{ *csr.Distributed }

func (a twice) MulVecTo(ctx context.Context, dst []float64, trans bool, x []float64) error {
	err := a.Distributed.MulVecTo(ctx, dst, trans, x)
	for i := range dst {
		dst[i] *= 2
	}
	return err
}

// TestDistributedEmbedded: an operator that embeds a matrix has its own products.
func TestDistributedEmbedded(t *testing.T) {
	const side = 8
	a, _ := generate(t, start(t, 1), side, 3, &counts{})
	b, x, half := vector(side*side, 1), make([]float64, side*side), make([]float64, side*side)
	_, err := krylov.CG(t.Context(), a, x, b, krylov.CGOptions{})
	_, err2 := krylov.CG(t.Context(), twice{a}, half, b, krylov.CGOptions{})
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	for i := range x {
		if math.Abs(x[i]-2*half[i]) > 1e-8 {
			t.Fatalf("x(%d) is %v, and %v of the matrix times 2", i, x[i], half[i])
		}
	}
}

// TestDistributedReleased: a closed matrix has no vectors, and what was refused leaves nothing behind.
func TestDistributedReleased(t *testing.T) {
	local := start(t, 1)
	for _, size := range [][2]int{{9, 4}, {9, 9}} {
		m, n := size[0], size[1]
		here, _ := random(t, local, m, n, 20, 3)
		a, err := csr.Scatter(t.Context(), local, here, 2)
		if err != nil {
			t.Fatal(err)
		}
		solve := func(ctx context.Context) (err error) {
			_, err = krylov.LSQR(ctx, a, make([]float64, n), vector(m, 1), krylov.LSQROptions{Damp: 1})
			return err
		}
		if err := errors.Join(solve(t.Context()), a.Close()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		if fault := panicOf(func() { solve(ctx) }); fault != blocked.ErrReleased {
			t.Errorf("%d×%d: after Close: %v", m, n, fault)
		}
		before := goleak.IgnoreCurrent()
		cancel()
		goleak.VerifyNone(t, before)
	}
}

// TestDistributedLSQR: least squares use the transpose, too. The bits are those of the same blocks on
// one machine. Of vectors only b and x go through the driver.
func TestDistributedLSQR(t *testing.T) {
	d, _ := nodes(t, 2, false, nil, nil)
	local := start(t, 2)
	for _, size := range [][2]int{{120, 20}, {40, 40}, {20, 60}} {
		m, n := size[0], size[1]
		here, _ := random(t, local, m, n, 900, 3)
		b := vector(m, 4)
		want, opt := make([]float64, n), krylov.LSQROptions{Damp: 0.1}
		if _, err := krylov.LSQR(t.Context(), here, want, b, opt); err != nil {
			t.Fatal(err)
		}
		var before []float64
		for _, rt := range []exec.Runtime{local, d} {
			a, err := csr.Scatter(t.Context(), rt, here, 4)
			if err != nil {
				t.Fatal(err)
			}
			x := make([]float64, n)
			_, scattered := traffic(d)
			result, err := krylov.LSQR(t.Context(), a, x, b, opt)
			if err != nil {
				t.Fatal(err)
			}
			_, driver := traffic(d) // of two dot products an iteration some numbers for each block
			if got, most := driver-scattered, int64(4*8*(m+n)+(result.Iterations+2)*2*a.Blocks()*200); got > most || moved(d, "v") != 0 {
				t.Errorf("%d×%d: %d bytes went through the driver in %d iterations, want at most %d; %d of vectors", m, n, got, result.Iterations, most, moved(d, "v"))
			}
			a.Close()
			for i := range x {
				if math.Abs(x[i]-want[i]) > 1e-6*(1+math.Abs(want[i])) {
					t.Errorf("%d×%d: x(%d) is %v, want %v", m, n, i, x[i], want[i])
				}
			}
			if before != nil && !slices.Equal(x, before) {
				t.Errorf("%d×%d: other bits than on one machine", m, n)
			}
			before = x
		}
	}
}

// TestDistributedLSQRLost: least squares have the bits of the same blocks on one machine also if a node
// is killed meanwhile.
func TestDistributedLSQRLost(t *testing.T) {
	const side, blocks = 8, 4
	made, opt := &counts{}, krylov.LSQROptions{Damp: 0.1}
	d, kill := nodes(t, 3, false, func(node string) []*versions.Op { return []*versions.Op{gridOp(node, made)} },
		func(o *cluster.Options) { o.Owner, o.Stay = true, true }) // so that only one has what is killed
	b, want, x := vector(side*side, 1), make([]float64, side*side), make([]float64, side*side)
	there, _ := generate(t, start(t, 2), side, blocks, &counts{})
	expected, err := krylov.LSQR(t.Context(), there, want, b, opt)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := generate(t, d, side, blocks, made)
	victim := ""
	for node := range made.of {
		victim = node
	}
	opt.Observe = func(k int, _ float64) {
		if k == 5 {
			kill[victim[len(victim)-1]-'0']()
		}
	}
	result, err := krylov.LSQR(t.Context(), a, x, b, opt)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(x, want) || result != expected {
		t.Errorf("%+v, and %+v on one machine", result, expected)
	}
	if made.sum() <= blocks {
		t.Errorf("%v have made %d blocks, and one was killed", made.of, blocks)
	}
}
