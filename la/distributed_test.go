package la_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/file"
	"github.com/tessera-la/tessera/blocked/qr"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/cluster/clustertest"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/transport"
	"go.uber.org/goleak"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
)

// nodes starts a driver that computes nothing itself, and agents; kill ends one.
func nodes(t *testing.T, agents int, owner bool) (d *cluster.Driver, kill []context.CancelFunc) {
	t.Helper()
	return nodesWith(t, agents, func(o *cluster.Options) { o.Idle, o.Owner = true, owner })
}

// nodesWith starts a driver and agents with further options.
func nodesWith(t *testing.T, agents int, set func(*cluster.Options)) (d *cluster.Driver, kill []context.CancelFunc) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
	n := clustertest.Start(t, transport.NewNetwork().Node, agents, func(o *cluster.Options) {
		o.Ops, o.Values, o.Errors = append(op.NewTable().All(), file.Ops()...), kernels.Values(), append(kernels.Errors(), file.Errors()...)
		set(o)
	})
	return n.Driver, n.Kill
}

// sameResult reports whether two results are the same: bit by bit, but for condition numbers, which are
// estimated by other means where the factors are elsewhere.
func sameResult(name string, x float64, another string, y float64) bool {
	return name == another && (math.Float64bits(x) == math.Float64bits(y) || name == "cond" && math.Abs(x-y) <= 1e-10*x)
}

// TestDistributed: what is computed on matrices that are on other nodes only is what one
// machine computes, bit by bit; also if one of the nodes is lost on the way.
func TestDistributed(t *testing.T) {
	for _, lose := range []bool{false, true} {
		t.Run(fmt.Sprintf("lose=%t", lose), func(t *testing.T) {
			d, kill := nodes(t, 3, lose)
			one, err := exec.NewLocal(exec.Options{Workers: 2, Float: true})
			if err != nil {
				t.Fatal(err)
			}
			defer one.Close()
			want := computed(t, one, func(string) {})
			got := computed(t, d, func(step string) {
				if lose && step == "made" {
					kill[1]()
				}
				if lose && step == "factored" {
					kill[2]()
				}
			})
			for i := range want {
				if !sameResult(want[i].name, want[i].x, got[i].name, got[i].x) {
					t.Fatalf("%s is %v, want %v", got[i].name, got[i].x, want[i].x)
				}
			}
		})
	}
}

// TestNodesAndPolicies: the bits are those of one machine on any number of nodes, the driver
// among them, under every policy.
func TestNodesAndPolicies(t *testing.T) {
	one, err := exec.NewLocal(exec.Options{Workers: 2, Float: true})
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	want := computed(t, one, func(string) {})
	policies := map[string]func(*cluster.Options){
		"owner":    func(o *cluster.Options) { o.Owner = true },
		"priority": func(o *cluster.Options) { o.ByPriority = true },
		"user": func(o *cluster.Options) { // the last task of those ready, on the node with the least
			o.NewPolicy = dispatch.ByScore(func(t *graph.Task, node int) float64 { return float64(t.ID()) - float64(t.BytesAt(node)) })
		},
	}
	for _, k := range dispatch.Kinds()[1:] {
		policies[k.String()] = func(o *cluster.Options) { o.Policy = k }
	}
	for k, agents := range []int{0, 1, 2, 4} {
		for i, name := range slices.Sorted(maps.Keys(policies)) {
			// All on three nodes, and each once more; three of them, if tests are to be short.
			if agents != 2 && (i%3 != min(k, 2) || testing.Short() && i > 2) {
				continue
			}
			set := policies[name]
			t.Run(fmt.Sprintf("nodes=%d/%s", agents+1, name), func(t *testing.T) {
				d, _ := nodesWith(t, agents, set)
				for i, got := range computed(t, d, func(string) {}) {
					if !sameResult(want[i].name, want[i].x, got.name, got.x) {
						t.Fatalf("%s is %v, want %v", got.name, got.x, want[i].x)
					}
				}
			})
		}
	}
}

// result is a number, and what it is.
type result struct {
	name string
	x    float64
}

// computed computes with matrices that a runtime keeps.
func computed(t *testing.T, rt exec.Runtime, step func(string)) (all []result) {
	t.Helper()
	const n, nrhs, nb = 68, 9, 16
	ctx := context.Background()
	e, err := la.NewEngine(la.Options{Runtime: rt, NB: nb})
	if err != nil {
		t.Fatal(err)
	}
	matrix := func(kind blocked.Kind, m, n int, seed uint64, bump float64) *blocked.Matrix[float64] {
		a, err := blocked.Distributed[float64](rt, kind, m, n, nb)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { a.Close() })
		if err := a.SetLayout(blocked.BlockCyclic{P: 1, Q: 3}, 3); err != nil {
			t.Fatal(err)
		}
		job := rt.NewJob(ctx)
		p := blocked.NewProgram(job, kernels.For[float64](op.NewTable()))
		if err := errors.Join(p.Plrnt(a, seed, bump), job.Wait()); err != nil {
			t.Fatal(err)
		}
		return a
	}
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	add := func(name string, x float64) { all = append(all, result{name, x}) }
	read := func(name string, a *blocked.Matrix[float64]) {
		m, n := a.Dims()
		if _, cluster := rt.(*cluster.Driver); cluster != a.IsDistributed() || cluster && a.Tile(0, 0).Data != nil {
			t.Fatalf("%s has come to the driver", name)
		}
		for i := range m {
			for j := range n {
				add(fmt.Sprintf("%s(%d,%d)", name, i, j), a.At(i, j))
			}
		}
	}

	spd, general := matrix(blocked.SymUpper, n, n, 1, n), matrix(blocked.Full, n, n, 2, 3)
	tall, b, c := matrix(blocked.Full, 2*n, n, 3, 0), matrix(blocked.Full, n, nrhs, 4, 0), matrix(blocked.Full, n, nrhs, 5, 0)
	step("made")
	norm, err := la.NormInPlace(ctx, e, spd, lapack.MaxColumnSum)
	must("norm", err)
	add("norm", norm)
	for _, a := range []*blocked.Matrix[float64]{spd, general, tall} {
		for _, norm := range []lapack.MatrixNorm{lapack.MaxColumnSum, lapack.MaxRowSum, lapack.MaxAbs, lapack.Frobenius} {
			x, err := la.NormInPlace(ctx, e, a, norm)
			must("norm", err)
			add("norm", x)
			m, n := a.Dims()
			gathered := blocked.New[float64](blocked.Full, m, n, nb)
			a.CopyTo(gathered, 2)
			if want := la.Norm[float64](e, gathered, norm); math.Abs(x-want) > 1e-13*want {
				t.Fatalf("norm %c is %v, want %v", norm, x, want)
			}
		}
	}
	must("Gemm", la.Gemm[float64](ctx, e, blas.Trans, blas.NoTrans, 2, general, b, -1, c))
	read("product", c)
	must("Syrk", la.Syrk[float64](ctx, e, blas.Trans, 1, tall, 1, spd))

	for i, a := range []*blocked.Matrix[float64]{spd, general} {
		x := matrix(blocked.Full, n, nrhs, 9, 0)
		var report la.Refinement
		var err error
		if i == 0 {
			report, err = la.SolveSPD(ctx, e, x, a, x, la.InPlace())
		} else {
			report, err = la.SolveGeneral(ctx, e, x, a, x, la.InPlace())
		}
		must("mixed precision", err)
		if report.Fallback != la.NoFallback || report.Iterations == 0 || report.BackwardError > 1e-15 {
			t.Fatalf("mixed precision: %+v", report)
		}
		add("iterations", float64(report.Iterations))
		read("V", x)
	}

	chol := la.NewCholesky[float64](e)
	must("Cholesky", chol.Factorize(spd, la.WithContext(ctx), la.InPlace()))
	tournament, err := la.NewLUWith[float64](e, la.LUOptions{Pivoting: la.TournamentPivoting})
	must("tournament", err)
	played := matrix(blocked.Full, n, n, 12, 3)
	must("tournament", tournament.Factorize(played, la.WithContext(ctx), la.InPlace()))
	step("factored")
	read("tournament", played)
	read("U", spd)
	must("Solve", chol.SolveTo(c, c, la.WithContext(ctx), la.InPlace()))
	read("X", c)
	add("cond", chol.Cond())
	add("logdet", chol.LogDet())

	lu := la.NewLU[float64](e)
	must("LU", lu.Factorize(general, la.WithContext(ctx), la.InPlace()))
	read("LU", general)
	must("Solve", lu.SolveTo(b, true, b, la.WithContext(ctx), la.InPlace()))
	read("Y", b)
	add("cond", lu.Cond())

	qr, err := la.NewQRWith[float64](e, la.QROptions{Tree: qr.TreeGreedy})
	must("QR", err)
	must("QR", qr.Factorize(tall, la.WithContext(ctx), la.InPlace()))
	read("QR", tall)
	rhs, x := matrix(blocked.Full, 2*n, nrhs, 6, 0), matrix(blocked.Full, n, nrhs, 7, 0)
	must("Solve", qr.SolveTo(x, false, rhs, la.WithContext(ctx), la.InPlace()))
	read("Z", x)
	add("cond", qr.Cond())
	square := matrix(blocked.Full, n, n, 8, 1)
	must("QR", qr.Factorize(square, la.WithContext(ctx), la.InPlace()))
	add("logdet", qr.Det())
	must("Solve", qr.SolveTo(x, false, x, la.WithContext(ctx), la.InPlace()))
	read("X", x)
	return all
}

// TestInPlaceErrors: what cannot be factored in place, or solved, is refused by type.
func TestInPlaceErrors(t *testing.T) {
	d, _ := nodes(t, 2, false)
	e, err := la.NewEngine(la.Options{Runtime: d, NB: 8})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	a, err := blocked.Distributed[float64](d, blocked.SymUpper, 30, 30, 8)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	nan := blocked.New[float64](blocked.SymUpper, 30, 30, 8)
	nan.SetIdentity()
	nan.Set(11, 20, math.NaN())
	job := d.NewJob(ctx)
	if err := errors.Join(blocked.NewProgram(job, kernels.For[float64](op.NewTable())).Load(a, nan, blocked.LoadOptions{}), job.Wait()); err != nil {
		t.Fatal(err)
	}
	var bad *la.NonFiniteError
	if err := la.NewCholesky[float64](e).Factorize(a, la.WithContext(ctx), la.InPlace()); !errors.As(err, &bad) || bad.Row != 11 || bad.Col != 20 {
		t.Errorf("a NaN: %v", err)
	}
	var shape *la.ShapeError
	if err := la.NewLU[float64](e).Factorize(a, la.WithContext(ctx), la.InPlace()); !errors.As(err, &shape) {
		t.Errorf("LU of a symmetric matrix: %v", err)
	}
	c := la.NewCholesky[float64](e)
	job = d.NewJob(ctx)
	if err := errors.Join(blocked.NewProgram(job, kernels.For[float64](op.NewTable())).Plrnt(a, 1, -100), job.Wait()); err != nil {
		t.Fatal(err)
	}
	var minor *la.NotPositiveDefiniteError
	if err := c.Factorize(a, la.WithContext(ctx), la.InPlace()); !errors.As(err, &minor) || minor.Minor != 1 || !c.IsEmpty() {
		t.Errorf("not positive definite: %v", err)
	}
	defer func() {
		if r := recover(); r != blocked.ErrAway {
			t.Errorf("Set: %v", r)
		}
	}()
	a.Set(0, 0, 1)
}

// TestBytesMoved: with tasks where the tiles are that they write, Cholesky and Gemm move as
// many bytes as a 2×2 block-cyclic layout needs, and nothing twice: each version of a tile
// goes once to each other node that reads it.
func TestBytesMoved(t *testing.T) {
	const n, nb, mt = 160, 16, 10
	d, _ := nodesWith(t, 4, func(o *cluster.Options) { o.Idle, o.Owner, o.Stay = true, true, true })
	e, err := la.NewEngine(la.Options{Runtime: d, NB: nb})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	grid := blocked.BlockCyclic{P: 2, Q: 2}
	matrix := func(kind blocked.Kind) *blocked.Matrix[float64] {
		a, err := blocked.Distributed[float64](d, kind, n, n, nb)
		if err == nil {
			err = a.SetLayout(grid, 4)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { a.Close() })
		job := d.NewJob(ctx)
		if err := errors.Join(blocked.NewProgram(job, kernels.For[float64](op.NewTable())).Plrnt(a, 1, n), job.Wait()); err != nil {
			t.Fatal(err)
		}
		return a
	}
	moved := func() (in int64) {
		for _, u := range d.Usage()[1:] { // and to the driver a few sums
			in += u.In
		}
		return in
	}
	// need counts the tiles that other nodes than the owner read.
	need := func(readers func(i, j int, reads func(i, j int))) (bytes int64) {
		for i := range mt {
			for j := range mt {
				nodes := map[int]bool{}
				readers(i, j, func(p, q int) { nodes[grid.Owner(p, q)] = true })
				delete(nodes, grid.Owner(i, j))
				bytes += int64(len(nodes)) * nb * nb * 8
			}
		}
		return bytes
	}

	a, b, c := matrix(blocked.Full), matrix(blocked.Full), matrix(blocked.Full)
	before := moved()
	if err := la.Gemm[float64](ctx, e, blas.NoTrans, blas.NoTrans, 1, a, b, 0, c); err != nil {
		t.Fatal(err)
	}
	want := need(func(i, j int, reads func(i, j int)) { // of A by row i of C, of B by column j
		for k := range mt {
			reads(i, k)
		}
	}) + need(func(i, j int, reads func(i, j int)) {
		for k := range mt {
			reads(k, j)
		}
	})
	if got := moved() - before; got != want {
		t.Errorf("Gemm moves %d bytes, the layout needs %d", got, want)
	}

	u := matrix(blocked.SymUpper)
	norm, err := la.NormInPlace(ctx, e, u, lapack.MaxColumnSum)
	if err != nil || !(norm > n/2) {
		t.Fatal(norm, err)
	}
	before = moved()
	if err := la.NewCholesky[float64](e).Factorize(u, la.WithContext(ctx), la.InPlace()); err != nil {
		t.Fatal(err)
	}
	want = need(func(k, j int, reads func(i, j int)) {
		switch {
		case k == j: // by the panel
			for m := k + 1; m < mt; m++ {
				reads(k, m)
			}
		case k < j: // by row j and column j of what is left
			for m := k + 1; m < mt; m++ {
				reads(min(m, j), max(m, j))
			}
		}
	})
	if got := moved() - before; got != want {
		t.Errorf("Cholesky moves %d bytes, the layout needs %d", got, want)
	}
}
