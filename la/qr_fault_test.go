package la_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/file"
	"github.com/tessera-la/tessera/blocked/qr"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/internal/sorted"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// TestQROptions checks that everything that is wrong is reported at once.
func TestQROptions(t *testing.T) {
	for words, opt := range map[string]la.QROptions{
		"Tree Domain InnerBlock TileSize": {Tree: 99, Domain: -1, InnerBlock: -2, TileSize: 1 << 20},
		"Domain":                          {Tree: qr.TreeBinary, Domain: 3},
	} {
		_, err := la.NewQRWith[float64](nil, opt)
		var bad *la.OptionsError
		if !errors.As(err, &bad) || len(bad.Problems) != len(strings.Fields(words)) {
			t.Errorf("%+v: %v", opt, err)
			continue
		}
		for _, word := range strings.Fields(words) {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%v does not mention %s", err, word)
			}
		}
	}
	for _, tree := range qr.Trees() {
		if got, err := qr.ParseTree(tree.String()); err != nil || got != tree {
			t.Errorf("%v is parsed as %v, %v", tree, got, err)
		}
	}
}

// TestQRTileSize checks that tiles are neither too many nor too few for the
// shape, whatever it is.
func TestQRTileSize(t *testing.T) {
	for _, workers := range []int{1, 2, 16} {
		e := start(t, la.Options{Workers: workers, Direct: -1, Float: true})
		q := la.NewQR[float64](e)
		for _, s := range [][2]int{{1000, 1000}, {8192, 8192}, {65536, 512}, {512, 65536}, {1000000, 8}, {1000000, 1}, {1, 1000000}, {3, 1000}, {700, 100}, {5, 5}} {
			nb, direct := q.TileSize(s[0], s[1])
			long, short := max(s[0], s[1]), min(s[0], s[1])
			if direct || nb < 1 || nb > 1<<14 {
				t.Errorf("%v, %d workers: %d, %v", s, workers, nb, direct)
			}
			if along := (long + nb - 1) / nb; long*short > 1<<20 && along < workers {
				t.Errorf("%v, %d workers: %d tiles along the longer side", s, workers, along)
			}
			if elements := nb * min(nb, short); long*short > 1<<20 && elements < 1<<12 {
				t.Errorf("%v, %d workers: tiles of %d elements", s, workers, elements)
			}
		}
	}
	e := start(t, la.Options{Workers: 2, NB: 48})
	forced := newQR[float64](t, e, la.QROptions{TileSize: 7})
	for _, c := range []struct {
		q      *la.QR[float64]
		n, nb  int
		direct bool
	}{{forced, 20, 7, false}, {forced, 7, 7, true}, {la.NewQR[float64](e), 49, 48, false}, {la.NewQR[float64](e), 48, 48, true}} {
		if nb, direct := c.q.TileSize(c.n, 2); nb != c.nb || direct != c.direct {
			t.Errorf("n %d: %d, %v; want %d, %v", c.n, nb, direct, c.nb, c.direct)
		}
	}
}

// TestQRFlops compares what is counted with the known leading term.
func TestQRFlops(t *testing.T) {
	e := start(t, la.Options{Workers: 1, NB: 4, Direct: -1})
	const n = 120
	a := random[float64](rand.New(rand.NewPCG(9, 4)), n, n, 0)
	q := newQR[float64](t, e, la.QROptions{})
	if err := q.Factorize(a); err != nil {
		t.Fatal(err)
	}
	f := q.Flops()
	if standard := 4. / 3 * n * n * n; !(f.Standard > 0.999*standard && f.Standard < 1.001*standard) {
		t.Errorf("the standard is %g, want %g", f.Standard, standard)
	}
	if got := f.Performed / (n * n * n); !(got > 0.97*4/3 && got < 1.12*4/3) {
		t.Errorf("%.3g·n³, want 4/3·n³", got)
	}
}

// TestQRFaults has a version fail, or panic, at every place of a factorization.
func TestQRFaults(t *testing.T) {
	var s saboteur
	const m, n = 17, 12
	a := random[float64](rand.New(rand.NewPCG(9, 5)), m, n, 1)
	before := clone(a)
	for name, c := range map[string]struct {
		opt la.Options
		qr  la.QROptions
	}{
		"tiles":    {la.Options{Workers: 3, NB: 5, Direct: -1, Deterministic: true, Float: true}, la.QROptions{}},
		"binary":   {la.Options{Workers: 3, NB: 5, Direct: -1, Deterministic: true, Float: true}, la.QROptions{Tree: qr.TreeBinary}},
		"profiled": {la.Options{Workers: 2, NB: 5, Direct: -1, Only: []string{"fragile"}}, la.QROptions{Tree: qr.TreeGreedy}},
		"direct":   {la.Options{Workers: 1, Deterministic: true}, la.QROptions{}},
	} {
		c.opt.Table = s.table()
		q := newQR[float64](t, start(t, c.opt), c.qr)
		s.everywhere(t, name, faults(), q, func() error { return q.Factorize(a) }, func(what string) { unchanged(t, what, a, before, nil) })
		checkQR(t, q, load[float64](a, blas.NoTrans), "%s", name)
	}
}

// TestQRFaultsElsewhere has a version fail in every other call of QR.
func TestQRFaultsElsewhere(t *testing.T) {
	var s saboteur
	for name, opt := range map[string]la.Options{
		"tiles":  {Workers: 2, NB: 5, Direct: -1, Deterministic: true},
		"direct": {Workers: 1, Deterministic: true},
	} {
		opt.Table = s.table()
		e := start(t, opt)
		s.arm(0, nil)
		tall, _ := factoredQR[float32](t, e, la.QROptions{}, matgen.Spec{Kind: matgen.Random, M: 12, N: 7})
		wide, _ := factoredQR[float32](t, e, la.QROptions{}, matgen.Spec{Kind: matgen.Random, M: 7, N: 12})
		b, x := random[float32](rand.New(rand.NewPCG(9, 6)), 12, 3, 0), padded[float32](7, 3, 0)
		x0 := clone(x)
		for call, f := range map[string]func() error{
			"QTo":              func() error { return tall.QTo(padded[float32](12, 12, 0)) },
			"QThinTo":          func() error { return tall.QThinTo(padded[float32](12, 7, 0)) },
			"ApplyQTo":         func() error { return tall.ApplyQTo(padded[float32](12, 3, 0), blas.Left, true, b) },
			"SolveTo":          func() error { return tall.SolveTo(x, false, b) },
			"SolveTo, wide":    func() error { return wide.SolveTo(x, true, b) },
			"SolveTo, wide, 2": func() error { return wide.SolveTo(x, true, b) },
		} {
			s.arm(1, func(*versions.Call, func(*versions.Call) error) error { panic("broken") })
			var task *exec.TaskError
			if err := f(); !errors.As(err, &task) {
				t.Errorf("%s: %s: %v", name, call, err)
			}
			unchanged(t, call, x, x0, nil)
			s.arm(0, nil)
			if err := f(); err != nil {
				t.Errorf("%s: %s, again: %v", name, call, err)
			}
			copy(x.Data, x0.Data)
		}
		s.arm(1, func(*versions.Call, func(*versions.Call) error) error { return errBroken })
		if cond := tall.Cond(); !(cond >= 1) { // an estimate is no task
			t.Errorf("%s: condition %v", name, cond)
		}
	}
}

// TestQRClosed checks that a closed engine computes nothing.
func TestQRClosed(t *testing.T) {
	e, err := la.NewEngine(la.Options{Workers: 2, NB: 8})
	if err != nil {
		t.Fatal(err)
	}
	small, _ := factoredQR[float64](t, e, la.QROptions{}, matgen.Spec{Kind: matgen.Random, M: 4, N: 3})
	wide, _ := factoredQR[float64](t, e, la.QROptions{}, matgen.Spec{Kind: matgen.Random, M: 30, N: 70})
	e.Close()
	for _, q := range []*la.QR[float64]{small, wide} {
		m, n := q.Dims()
		var r mat.Dense
		q.RTo(&r) // a copy needs no worker
		errs := map[string]error{
			"SolveTo":    q.SolveTo(&mat.Dense{}, false, mat.NewDense(m, 1, nil)),
			"SolveVecTo": q.SolveVecTo(&mat.VecDense{}, true, mat.NewVecDense(n, nil)),
			"ApplyQTo":   q.ApplyQTo(&mat.Dense{}, blas.Left, true, mat.NewDense(m, 2, nil)),
			"Factorize":  la.NewQR[float64](e).Factorize(mat.NewDense(m, n, nil)),
			"QTo":        q.QTo(&mat.Dense{}),
		}
		for name, err := range errs {
			if err != exec.ErrClosed {
				t.Errorf("%d×%d: %s: %v, want exec.ErrClosed", m, n, name, err)
			}
		}
		if cond := q.Cond(); cond == cond {
			t.Errorf("%d×%d: condition %v, want NaN", m, n, cond)
		}
	}
}

// TestQRCancel ends the context in the middle of a factorization, from inside
// of its tasks.
func TestQRCancel(t *testing.T) {
	var s saboteur
	a := random[float64](rand.New(rand.NewPCG(9, 7)), 33, 27, 1)
	before := clone(a)
	for name, c := range map[string]struct {
		opt la.Options
		qr  la.QROptions
	}{
		"one worker": {la.Options{Workers: 1, NB: 5, Direct: -1}, la.QROptions{}},
		"window":     {la.Options{Workers: 3, NB: 5, Direct: -1, Float: true, Window: 4}, la.QROptions{Tree: qr.TreeGreedy}},
	} {
		c.opt.Deterministic, c.opt.Table = true, s.table()
		q := newQR[float64](t, start(t, c.opt), c.qr)
		s.cancelled(t, name, 90, 4, q, func(ctx context.Context) error { return q.Factorize(a, la.WithContext(ctx)) },
			func(what string) { checkQR(t, q, load[float64](a, blas.NoTrans), "%s", what) }, func(what string) { unchanged(t, what, a, before, nil) })
	}
}

// qrNumbers computes one of everything with a QR and returns all of it.
func qrNumbers[T la.Element](t *testing.T, e *la.Engine, opt la.QROptions, m, n int) (all []T) {
	t.Helper()
	q, _ := factoredQR[T](t, e, opt, matgen.Spec{Kind: matgen.Random, M: m, N: n, Seed: 3})
	keep := func(err error, g la.General[T]) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		for i := range g.Rows {
			all = append(all, g.Data[i*g.Stride:i*g.Stride+g.Cols]...)
		}
	}
	rnd := rand.New(rand.NewPCG(8, 1))
	b, c := random[T](rnd, m, 9, 0), random[T](rnd, n, 9, 0)
	r, full, x, y := padded[T](m, n, 0), padded[T](m, m, 0), padded[T](n, 9, 0), padded[T](m, 9, 0)
	q.RTo(r)
	keep(nil, r)
	keep(q.QTo(full), full)
	keep(q.SolveTo(x, false, b), x)
	keep(q.SolveTo(y, true, c), y)
	keep(q.ApplyQTo(y, blas.Left, true, b), y)
	return append(all, T(q.Cond()))
}

func testQRDeterminism[T la.Element](t *testing.T, base la.Options, qo la.QROptions, m, n int) {
	var want []T
	for _, workers := range []int{1, 2, 5} {
		for k, policy := range dispatch.Kinds() {
			opt, window := base, 3*((workers+k)%2)
			opt.Workers, opt.Policy, opt.Window, opt.Float = workers, policy, window, true
			e, err := la.NewEngine(opt)
			if err != nil {
				t.Fatal(err)
			}
			got := qrNumbers[T](t, e, qo, m, n)
			e.Close()
			if want == nil {
				want = got
			}
			for i := range want {
				if bits(got[i]) != bits(want[i]) {
					t.Fatalf("%+v, %d workers, %v, window %d: number %d is %v, was %v", qo, workers, policy, window, i, got[i], want[i])
				}
			}
		}
	}
}

// TestQRDeterminism checks that the bits are the same whatever the number of
// workers, the policy and the window.
func TestQRDeterminism(t *testing.T) {
	opt := la.Options{Deterministic: true, NB: 8, Direct: -1}
	for _, qo := range qrOptions() {
		testQRDeterminism[float64](t, opt, qo, 45, 30)
	}
	testQRDeterminism[float32](t, opt, la.QROptions{Tree: qr.TreeBinary}, 30, 45)
	testQRDeterminism[float32](t, la.Options{Deterministic: true}, la.QROptions{}, 70, 3)
	testQRDeterminism[float64](t, la.Options{Deterministic: true, Direct: -1}, la.QROptions{}, 400, 90)
}

// TestQRFiles factors the matrices of the files in package blocked, and an
// unsymmetric one of condition 10¹⁵ that goes through a file.
func TestQRFiles(t *testing.T) {
	paths, err := filepath.Glob("../blocked/file/testdata/files/*.mtx")
	if err != nil || len(paths) < 3 {
		t.Fatalf("%v in %v", paths, err)
	}
	gen, err := matgen.New[float64](matgen.Spec{Kind: matgen.Cond, M: 190, N: 130, Cond: 1e15})
	if err != nil {
		t.Fatal(err)
	}
	m, _ := blocked.From[float64](gen, blocked.Full, 50, blocked.CopyOptions{})
	worst := filepath.Join(t.TempDir(), "worst.mtx")
	if err := file.Write(worst, m, nil); err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(9, 8))
	for engine, e := range sorted.Map(map[string]*la.Engine{"tiles": start(t, la.Options{Workers: 2, NB: 32, Direct: -1}), "auto": nil}) {
		for _, path := range append(paths, worst) {
			a, err := file.Read[float64](path, &file.ReadOptions{NB: 64})
			if err != nil {
				t.Fatal(err)
			}
			what := engine + ": " + filepath.Base(path)
			q := la.NewQR[float64](e)
			if err := q.Factorize(a); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			full := load[float64](a, blas.NoTrans)
			checkQR(t, q, full, "%s", what)
			b, x := random[float64](rnd, full.m, 3, 0), padded[float64](full.n, 3, 0)
			if err := q.SolveTo(x, false, b); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			// The solution is so large that rounding it to float64 alone leaves a
			// residual of ‖A‖‖X‖ε: it is what B is compared with.
			xd, bd := load[float64](x, blas.NoTrans), load[float64](b, blas.NoTrans)
			if r := bd.minus(full.times(xd)); full.m == full.n {
				small(t, solveResidual[float64](full, xd, bd), 30, "%s", what)
			} else {
				scale := full.norm1() * (bd.norm1() + full.norm1()*xd.norm1()) * float64(full.m) * 0x1p-53
				small(t, r.t().times(full).norm1()/scale, 30, "%s", what)
			}
			if cond := q.Cond(); path == worst && !(cond > 1e14) {
				t.Errorf("%s: condition %g", what, cond)
			}
		}
	}
}

// TestQRProgress checks that progress ends with all tasks.
func TestQRProgress(t *testing.T) {
	w := &watcher{t: t}
	e := start(t, la.Options{Workers: 2, NB: 4, Direct: -1, Progress: w.report})
	for _, opt := range qrOptions() {
		for _, s := range [][2]int{{22, 22}, {30, 9}, {9, 30}, {17, 1}} {
			what := fmt.Sprintf("%+v, %v", opt, s)
			q, _ := factoredQR[float64](t, e, opt, matgen.Spec{Kind: matgen.Random, M: s[0], N: s[1]})
			if done, total, _ := w.take(); done != total || total == 0 {
				t.Errorf("%s: factorization: %d of %d", what, done, total)
			}
			b := random[float64](rand.New(rand.NewPCG(7, 7)), s[0], 11, 0)
			for name, f := range map[string]func() error{
				"product":       func() error { return q.ApplyQTo(b, blas.Left, true, b) },
				"thin Q":        func() error { return q.QThinTo(&mat.Dense{}) },
				"solution":      func() error { return q.SolveTo(&mat.Dense{}, false, b) },
				"other problem": func() error { return q.SolveTo(&mat.Dense{}, true, mat.NewDense(s[1], 5, nil)) },
			} {
				if err := f(); err != nil {
					t.Fatalf("%s: %s: %v", what, name, err)
				}
				// A solution is several programs: the last one counts.
				if done, total, _ := w.take(); done != total {
					t.Errorf("%s: %s: %d of %d", what, name, done, total)
				}
			}
		}
	}
}

// TestQRLarge factors matrices of the sizes that people have.
func TestQRLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("factors matrices of order 500: run by make test-long")
	}
	e := start(t, la.Options{})
	for _, kind := range []matgen.Kind{matgen.Random, matgen.CondMax, matgen.Huge} {
		for _, s := range [][2]int{{430, 430}, {520, 300}, {3000, 60}, {60, 1500}} {
			q, a := factoredQR[float64](t, e, la.QROptions{}, matgen.Spec{Kind: kind, M: s[0], N: s[1]})
			if s[0] < 1000 {
				checkQR(t, q, a, "%v, %v", kind, s)
				continue
			}
			var thin, r mat.Dense
			q.RTo(&r)
			if err := q.QThinTo(&thin); err != nil {
				t.Fatal(err)
			}
			v := load[float64](&thin, blas.NoTrans)
			small(t, identity(v.n).minus(v.t().times(v)).norm1()/(float64(s[0])*0x1p-53), 30, "%v, %v", kind, s)
		}
	}
}

// TestQRVersionsMissing leaves QR without a version of one of its ops.
func TestQRVersionsMissing(t *testing.T) {
	table := op.NewTable()
	ops := kernels.For[float64](table)
	ops.Op("tsqrt").Versions = ops.Op("tsqrt").Versions[len(ops.Op("tsqrt").Versions)-1:]
	var none *versions.NoVersionError
	if _, err := la.NewEngine(la.Options{Table: table, Exclude: []string{"go"}}); !errors.As(err, &none) {
		t.Errorf("no version of tsqrt: %v", err)
	}
}

// TestQRVersions factors with one version of the ops at a time; knl takes several
// units, and the processor is declared to be one.
func TestQRVersions(t *testing.T) {
	for _, v := range kernels.For[float64](op.NewTable()).Op("tsmqr").Versions {
		opt := la.Options{Workers: 3, NB: 50, Direct: -1, Float: true, Only: []string{v.Name}}
		if v.Name == "knl" {
			opt.Target = versions.Target{Processor: "KNL", Units: 2}
		}
		e, err := la.NewEngine(opt)
		if err != nil {
			t.Logf("%s: %v", v.Name, err) // not on this machine
			continue
		}
		t.Cleanup(func() { e.Close() })
		for _, tree := range []qr.Tree{qr.TreeFlat, qr.TreeGreedy} {
			for _, s := range [][2]int{{170, 130}, {90, 160}} {
				what := fmt.Sprintf("%s, %v, %v", v.Name, tree, s)
				q, a := factoredQR[float64](t, e, la.QROptions{Tree: tree}, matgen.Spec{Kind: matgen.Cond, M: s[0], N: s[1], Cond: 1e3})
				checkQR(t, q, a, "%s", what)
				b, x := random[float64](rand.New(rand.NewPCG(9, 9)), s[0], 60, 0), padded[float64](s[1], 60, 0)
				if err := q.SolveTo(x, false, b); err != nil {
					t.Fatal(err)
				}
				checkSolution[float64](t, what, a, load[float64](x, blas.NoTrans), load[float64](b, blas.NoTrans))
			}
		}
	}
}
