package la_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/qr"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/offload"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/engine"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// simulated returns n accelerators with room for so many tiles of order nb, on
// devices that take their time, and the devices. They are closed at the end of the
// test, after its engines.
func simulated(t *testing.T, n, nb, tiles int, faults ...cuda.Fault) (all []offload.Accelerator, devices []*cuda.Simulated) {
	t.Helper()
	for i := range n {
		d, err := cuda.NewSimulated(cuda.SimOptions{Ordinal: i, Memory: 16 << 20, Jitter: 30 * time.Microsecond, Seed: uint64(i + 1), Faults: faults})
		if err != nil {
			t.Fatal(err)
		}
		a, err := cuda.NewAccelerator(d, cuda.Options{Name: fmt.Sprintf("sim%d", i), Memory: int64(tiles) * int64(nb) * int64(nb) * 8,
			Movers: 1, Poison: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := a.Close(); err != nil {
				t.Errorf("closing sim%d: %v", i, err)
			}
		})
		all, devices = append(all, a), append(devices, d)
	}
	return all, devices
}

func engineOf(t *testing.T, opt la.Options) *la.Engine {
	t.Helper()
	e, err := la.NewEngine(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// generatedDense returns a generated matrix.
func generatedDense(t *testing.T, kind matgen.Kind, n int, seed uint64) *mat.Dense {
	t.Helper()
	g, err := matgen.New[float64](matgen.Spec{Kind: kind, M: n, N: n, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	d := mat.NewDense(n, n, nil)
	for i := range n {
		for j := range n {
			d.Set(i, j, g.At(i, j))
		}
	}
	return d
}

// farApart returns the largest difference of two matrices, NaN if there is one.
func farApart(a, b mat.Matrix) (worst float64) {
	r, c := a.Dims()
	for i := range r {
		for j := range c {
			if d := math.Abs(a.At(i, j) - b.At(i, j)); !(d <= worst) {
				worst = d
			}
		}
	}
	return worst
}

// inTurn returns err, or what next does if that is nil.
func inTurn(err error, next func() error) error {
	if err != nil {
		return err
	}
	return next()
}

// everything computes a product, a solution by each factorization, and checks
// what A·X leaves of B. Tournament pivoting and QR are in it.
func everything(ctx context.Context, e *la.Engine, a *mat.Dense, spd *mat.SymDense, b *mat.Dense) error {
	n, _ := a.Dims()
	var c, want mat.Dense
	if err := la.Gemm(ctx, e, blas.NoTrans, blas.Trans, 1, a, b, 0, &c); err != nil {
		return fmt.Errorf("gemm: %w", err)
	}
	want.Mul(a, b.T())
	if d := farApart(&c, &want); !(d <= 1e-10) {
		return fmt.Errorf("gemm: the product is wrong by %g", d)
	}
	right := func(name string, a mat.Matrix, x *mat.Dense) error {
		var ax mat.Dense
		ax.Mul(a, x)
		if d := farApart(&ax, b); !(d <= 1e-7) {
			return fmt.Errorf("%s: the residual is %g", name, d)
		}
		return nil
	}
	solves := map[string]func(x *mat.Dense) (mat.Matrix, error){
		"cholesky": func(x *mat.Dense) (mat.Matrix, error) {
			f := la.NewCholesky[float64](e)
			return spd, inTurn(f.Factorize(spd, la.WithContext(ctx)), func() error { return f.SolveTo(x, b) })
		},
	}
	for _, pivoting := range []la.Pivoting{la.PartialPivoting, la.TournamentPivoting} {
		solves["lu "+pivoting.String()] = func(x *mat.Dense) (mat.Matrix, error) {
			f, err := la.NewLUWith[float64](e, la.LUOptions{Pivoting: pivoting})
			if err != nil {
				return a, err
			}
			return a, inTurn(f.Factorize(a, la.WithContext(ctx)), func() error { return f.SolveTo(x, false, b) })
		}
	}
	solves["qr"] = func(x *mat.Dense) (mat.Matrix, error) {
		f := la.NewQR[float64](e)
		return a, inTurn(f.Factorize(a, la.WithContext(ctx)), func() error { return f.SolveTo(x, false, b) })
	}
	for name, solve := range solves {
		x := mat.NewDense(n, n, nil)
		of, err := solve(x)
		if err == nil {
			err = right(name, of, x)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// deviceProblems returns the matrices for everything.
func deviceProblems(t *testing.T, n int) (a *mat.Dense, spd *mat.SymDense, b *mat.Dense) {
	a, b = generatedDense(t, matgen.Random, n, 1), generatedDense(t, matgen.Random, n, 2)
	g := generatedDense(t, matgen.SPDCond, n, 3)
	spd = mat.NewSymDense(n, nil)
	for i := range n {
		a.Set(i, i, a.At(i, i)+3)
		for j := i; j < n; j++ {
			spd.SetSym(i, j, g.At(i, j))
		}
	}
	return a, spd, b
}

// TestAccelerators computes everything on hosts and simulated devices with little
// room, where what is read before it is there is NaN: with what the times decide,
// with all on devices that can be, and under another policy.
func TestAccelerators(t *testing.T) {
	const n, nb = 70, 16
	a, spd, b := deviceProblems(t, n)
	for name, test := range map[string]struct {
		devices int
		opt     la.Options
	}{
		"chosen":        {2, la.Options{}},
		"device":        {1, la.Options{Only: []string{"cuda"}}},
		"devices":       {2, la.Options{Only: []string{"cuda"}}},
		"fifo":          {2, la.Options{Only: []string{"cuda"}, Policy: dispatch.FIFO}},
		"priority":      {1, la.Options{ByPriority: true}},
		"deterministic": {2, la.Options{Deterministic: true, Only: []string{"cuda"}}},
	} {
		t.Run(name, func(t *testing.T) {
			all, _ := simulated(t, test.devices, nb, 12)
			opt := test.opt
			opt.Accelerators, opt.Workers, opt.NB, opt.Direct = all, 2, nb, -1
			e := engineOf(t, opt)
			if err := everything(context.Background(), e, a, spd, b); err != nil {
				t.Fatal(err)
			}
			if launches := all[0].(*cuda.Accelerator).Stats().Launches; launches == 0 {
				t.Error("nothing ran on a device")
			}
		})
	}
}

// TestAcceleratorsDeterministic: with fixed versions the bits are the same however
// often and on however many devices.
func TestAcceleratorsDeterministic(t *testing.T) {
	const n, nb = 90, 16
	_, spd, _ := deviceProblems(t, n)
	var first *mat.TriDense
	for devices := 1; devices <= 2; devices++ {
		all, _ := simulated(t, devices, nb, 9)
		e := engineOf(t, la.Options{Accelerators: all, Workers: devices, NB: nb, Direct: -1, Deterministic: true, Only: []string{"cuda"}})
		for range 3 {
			f := la.NewCholesky[float64](e)
			var l mat.TriDense
			if err := f.Factorize(spd); err != nil {
				t.Fatal(err)
			}
			f.LTo(&l)
			if first == nil {
				first = &l
			} else if !mat.Equal(first, &l) {
				t.Fatalf("another factor with %d devices", devices)
			}
		}
	}
	// What is not fixed stays on the workers, with the bits that these give alone.
	all, _ := simulated(t, 1, nb, 9)
	var with, without mat.TriDense
	for l, opt := range map[*mat.TriDense]la.Options{&with: {Accelerators: all}, &without: {}} {
		opt.NB, opt.Direct, opt.Deterministic = nb, -1, true
		f := la.NewCholesky[float64](engineOf(t, opt))
		if err := f.Factorize(spd); err != nil {
			t.Fatal(err)
		}
		f.LTo(l)
	}
	if !mat.Equal(&with, &without) {
		t.Error("a deterministic engine computes otherwise beside a device")
	}
}

// TestAcceleratorsLost loses the device at some call: then everything is right, or
// a *cuda.LostError, and the engine goes on without.
func TestAcceleratorsLost(t *testing.T) {
	const n, nb = 80, 16
	a, spd, b := deviceProblems(t, n)
	good, bad := 0, 0
	for at := 20; at < 3000; at += 157 {
		all, devices := simulated(t, 1, nb, 12, cuda.Fault{N: at, Lost: true})
		e := engineOf(t, la.Options{Accelerators: all, Workers: 2, NB: nb, Direct: -1, Policy: dispatch.FIFO})
		err := everything(context.Background(), e, a, spd, b)
		var lost *cuda.LostError
		switch {
		case err == nil:
			good++
		case errors.As(err, &lost):
			bad++
		default:
			t.Errorf("lost at call %d: %v", at, err)
		}
		devices[0].Lose()
		if err := everything(context.Background(), e, a, spd, b); err != nil {
			t.Errorf("without the device: %v", err)
		}
	}
	if bad == 0 {
		t.Errorf("no value was lost in %d cases", good)
	}
}

// TestAcceleratorsCancelled ends the context in the middle: what the caller gave
// is as it was, and the next call is right.
func TestAcceleratorsCancelled(t *testing.T) {
	const n, nb = 96, 16
	a, spd, b := deviceProblems(t, n)
	all, _ := simulated(t, 1, nb, 12)
	e := engineOf(t, la.Options{Accelerators: all, Workers: 2, NB: nb, Direct: -1})
	for i := range 6 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i*i)*time.Millisecond)
		err := everything(ctx, e, a, spd, b)
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		cancel()
	}
	if err := everything(context.Background(), e, a, spd, b); err != nil {
		t.Fatal(err)
	}
}

// TestAcceleratorOptions: what is wrong with them is said at once.
func TestAcceleratorOptions(t *testing.T) {
	all, devices := simulated(t, 1, 8, 4)
	devices[0].Lose()
	_ = all[0].(*cuda.Accelerator).Fits(nil, 0)
	opt := la.Options{Accelerators: []offload.Accelerator{all[0], nil, all[0]}, ByPriority: true, Policy: dispatch.LIFO}
	var bad *la.OptionsError
	if err := opt.Validate(); !errors.As(err, &bad) || len(bad.Problems) != 3 {
		t.Errorf("got %v", err)
	}
	if _, err := engine.OpenAccelerators("gpu"); err == nil {
		t.Error("gpu names no device")
	}
	if none, err := engine.OpenAccelerators("none"); err != nil || none != nil {
		t.Errorf("none: %v, %v", none, err)
	}
	opened, err := engine.OpenAccelerators("sim:2")
	if err != nil || len(opened) != 2 || opened[1].Name() != "sim1" {
		t.Errorf("sim:2: %v, %v", opened, err)
	}
	for _, a := range opened {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestAcceleratorsPanels has devices factor the panels of QR whose reflectors the
// cores apply, and the other way round: they read them in the memory of a tile
// whose triangle is still being worked on.
func TestAcceleratorsPanels(t *testing.T) {
	const m, n, nb = 130, 70, 16
	a := mat.NewDense(m, n, nil)
	a.Copy(generatedDense(t, matgen.Random, m, 4).Slice(0, m, 0, n))
	pins := func(panels, applications string) []versions.Pin {
		var all []versions.Pin
		for _, op := range []string{"geqrt", "tsqrt", "ttqrt"} {
			all = append(all, versions.Pin{Op: op, Version: panels})
		}
		for _, op := range []string{"unmqr", "tsmqr", "ttmqr"} {
			all = append(all, versions.Pin{Op: op, Version: applications})
		}
		return all
	}
	for name, fixed := range map[string][]versions.Pin{"panels": pins("cuda", "go"), "applications": pins("go", "cuda"), "both": pins("cuda", "cuda")} {
		for _, tree := range []qr.Tree{qr.TreeFlat, qr.TreeBinary, qr.TreeGreedy} {
			for _, devices := range []int{1, 2} {
				if testing.Short() && (devices == 1) != (tree == qr.TreeBinary) {
					continue
				}
				all, sims := simulated(t, devices, nb, 12)
				e := engineOf(t, la.Options{Accelerators: all, Workers: 2, NB: nb, Direct: -1, Fixed: fixed})
				f, err := la.NewQRWith[float64](e, la.QROptions{Tree: tree})
				if err != nil {
					t.Fatal(err)
				}
				var q, r, qr mat.Dense
				if err := f.Factorize(a); err != nil {
					t.Fatal(err)
				}
				if err := f.QTo(&q); err != nil {
					t.Fatal(err)
				}
				f.RTo(&r)
				qr.Mul(&q, &r)
				if d := farApart(&qr, a); !(d < 1e-12) {
					t.Errorf("%s, %v, %d devices: Q·R is not A but off by %g", name, tree, devices, d)
				}
				panels := 0 // one device may have taken all
				for _, sim := range sims {
					panels += sim.Stats().Calls["Geqrf"]
				}
				if (panels > 0) != (name != "applications") {
					t.Errorf("%s: %d panels on %d devices", name, panels, devices)
				}
			}
		}
	}
}

// TestAcceleratorsEigen: products of the reduction to a band, and of the transformation back, run on devices.
func TestAcceleratorsEigen(t *testing.T) {
	const n, nb = 150, 32
	all, _ := simulated(t, 2, nb, 60)
	e := engineOf(t, la.Options{Accelerators: all, Workers: 2, NB: nb, Fixed: []versions.Pin{{Op: "sy2sbmm", Version: "cuda"}, {Op: "ormsy2sb", Version: "cuda"}}})
	a := mat.NewSymDense(n, nil)
	dense := generatedDense(t, matgen.Random, n, 5)
	for i := range n {
		for j := i; j < n; j++ {
			a.SetSym(i, j, dense.At(i, j))
		}
	}
	c, want := la.NewEigenSym[float64](e), la.NewEigenSym[float64](nil)
	if err := inTurn(want.Factorize(a, true), func() error { return c.Factorize(a, true, la.TwoStages) }); err != nil {
		t.Fatal(err)
	}
	values := want.Values(nil)
	for i, x := range c.Values(nil) {
		if d := math.Abs(x - values[i]); !(d <= 1e-12*float64(n)) {
			t.Errorf("eigenvalue %d is %v, want %v", i, x, values[i])
		}
	}
	var v, av, vd mat.Dense
	c.VectorsTo(&v)
	av.Mul(a, &v)
	vd.Mul(&v, mat.NewDiagDense(n, values))
	if d := farApart(&av, &vd); !(d <= 1e-12*float64(n)) {
		t.Errorf("A·V and V·diag(λ) differ by %.3g", d)
	}
	lower := blocked.New[float64](blocked.TriLower, n, n, nb)
	for i := range n {
		for j := range i + 1 {
			lower.Set(i, j, a.At(i, j))
		}
	}
	if err := c.Factorize(lower, false, la.TwoStages); err != nil {
		t.Fatal(err)
	}
	for i, x := range c.Values(nil) {
		if d := math.Abs(x - values[i]); !(d <= 1e-12*float64(n)) {
			t.Errorf("eigenvalue %d of a lower triangle is %v, want %v", i, x, values[i])
		}
	}
	for _, x := range all {
		if x.(*cuda.Accelerator).Stats().Launches == 0 {
			t.Errorf("%s has executed nothing", x.Name())
		}
	}
}
