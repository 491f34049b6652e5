package peers

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/kernels/cpu"
	"go.uber.org/goleak"
	"gonum.org/v1/gonum/blas"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func quick() Config {
	return Config{Workers: 2, Repeat: 3, Warmup: 1, Seed: 7, Only: []string{"go"}}
}

func TestCompare(t *testing.T) {
	t.Run("f64", testCompare[float64])
	t.Run("f32", testCompare[float32])
}

func testCompare[T matgen.Element](t *testing.T) {
	for _, op := range Ops() {
		lib, calls := portable[T](t)
		r, err := compare(context.Background(), quick(), lib, op, Square(200))
		if err != nil {
			t.Fatalf("%v: %v", op, err)
		}
		if !r.Passed || r.Op != op.String() || r.N != 200 || r.Workers != 2 {
			t.Errorf("%v: %+v", op, r)
		}
		for name, s := range map[string]Side{"ours": r.Ours, "peer": r.Peer} {
			if s.Calls != 3 || !(s.SecondsBest > 0) || s.SecondsMedian < s.SecondsBest || s.GFLOPSMedian > s.GFLOPSBest {
				t.Errorf("%v %s: %+v", op, name, s)
			}
			if math.Abs(s.GFLOPSBest*s.SecondsBest*1e9/op.flops(Square(200))-1) > 1e-12 {
				t.Errorf("%v %s: rate %g in %g s", op, name, s.GFLOPSBest, s.SecondsBest)
			}
			if !(s.Residual > 0 && s.Residual < 1) {
				t.Errorf("%v %s: residual %g", op, name, s.Residual)
			}
		}
		if r.RatioBest != r.Ours.GFLOPSBest/r.Peer.GFLOPSBest {
			t.Errorf("%v: ratio %g", op, r.RatioBest)
		}
		want := 4 // one to warm up, three timed
		if op == Cholesky || op == SolveSPD {
			want += 2 * 3 // of each triangle, to find the faster one
		}
		if *calls != want {
			t.Errorf("%v: %d calls of the library, want %d", op, *calls, want)
		}
		for _, name := range r.Versions {
			if name != "go" {
				t.Errorf("%v: versions %v", op, r.Versions)
			}
		}
		if (r.PeerUplo != "") != (op == Cholesky || op == SolveSPD) {
			t.Errorf("%v: uplo %q", op, r.PeerUplo)
		}
	}
}

// Tall and wide matrices, both sides of them right.
func TestRectangles(t *testing.T) {
	cfg := quick()
	cfg.Repeat = 1
	for _, op := range Ops() {
		for _, size := range []Size{{300, 70}, {70, 300}} {
			lib, _ := portable[float64](t)
			r, err := compare(context.Background(), cfg, lib, op, size)
			if !op.Takes(size) {
				if err == nil {
					t.Errorf("%v %v: no error", op, size)
				}
				continue
			}
			if err != nil || !r.Passed || r.Size() != size {
				t.Errorf("%v %v: %+v, %v", op, size, r, err)
			}
		}
	}
}

// A turn repeats short calls until its time is over.
func TestTurns(t *testing.T) {
	calls, restored := 0, 0
	c := &contender{
		enter:    func() {},
		restore:  func() { restored++ },
		call:     func() (time.Duration, error) { calls++; return time.Millisecond, nil },
		residual: func() float64 { return float64(calls) },
	}
	if err := c.turn(context.Background(), Config{Turn: 10 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	if calls != 10 || restored != 10 || len(c.times) != 10 || c.worst != 10 {
		t.Errorf("%d calls, %d restored, %d times, residual %g", calls, restored, len(c.times), c.worst)
	}
	if err := c.turn(context.Background(), Config{Turn: time.Hour}); err != nil {
		t.Fatal(err)
	}
	if calls != 10+maxCalls {
		t.Errorf("%d calls", calls)
	}
}

// A library that computes nonsense does not pass, and neither does one that
// leaves out an element.
func TestWrongLibraryFails(t *testing.T) {
	cfg := quick()
	for name, spoil := range map[string]func(c []float64){
		"NaN":       func(c []float64) { c[17] = math.NaN() },
		"one value": func(c []float64) { c[17*200+17] *= 1 + 1e-6 },
		"zero":      func(c []float64) { clear(c) },
	} {
		lib, _ := portable[float64](t)
		gemm, potrf, getrf := lib.gemm, lib.potrf, lib.getrf
		lib.getrf = func(m, n int, a []float64, ipiv []int32) int { info := getrf(m, n, a, ipiv); spoil(a); return info }
		lib.gemm = func(n int, a, b, c []float64) { gemm(n, a, b, c); spoil(c) }
		lib.potrf = func(uplo byte, n int, a []float64) int { info := potrf(uplo, n, a); spoil(a); return info }
		for _, op := range []Op{Gemm, Cholesky, LU} {
			if name == "NaN" && op == Cholesky {
				continue // element 17 may be in the triangle that nobody reads
			}
			r, err := compare(context.Background(), cfg, lib, op, Square(200))
			if err != nil || r.Passed {
				t.Errorf("%s, %v: passed with residual %g, error %v", name, op, r.Peer.Residual, err)
			}
			if _, err := json.Marshal(r); err != nil {
				t.Errorf("%s, %v: %v", name, op, err)
			}
		}
	}
	lib, _ := portable[float64](t)
	lib.potrf = func(byte, int, []float64) int { return 3 }
	if _, err := compare(context.Background(), cfg, lib, Cholesky, Square(200)); err == nil {
		t.Error("info = 3 is no error")
	}
}

// So it is with the routines that leave more than one matrix.
func TestWrongSolutionFails(t *testing.T) {
	cfg := quick()
	for name, spoil := range map[string]func(x []float64){
		"NaN":       func(x []float64) { x[17] = math.NaN() },
		"one value": func(x []float64) { x[17] += 1e-4 },
	} {
		lib, _ := portable[float64](t)
		right := lib
		lib.geqrf = func(m, n int, a, tau, work []float64) int { right.geqrf(m, n, a, tau, work); spoil(tau); return 0 }
		lib.gesv = func(n, nrhs int, a []float64, ipiv []int32, b []float64) int {
			right.gesv(n, nrhs, a, ipiv, b)
			spoil(b)
			return 0
		}
		lib.posv = func(uplo byte, n, nrhs int, a, b []float64) int { right.posv(uplo, n, nrhs, a, b); spoil(b); return 0 }
		lib.gels = func(m, n, nrhs int, a, b, work []float64) int { right.gels(m, n, nrhs, a, b, work); spoil(b); return 0 }
		for _, op := range []Op{QR, Solve, SolveSPD, LeastSquares} {
			r, err := compare(context.Background(), cfg, lib, op, Square(100))
			if err != nil || r.Passed {
				t.Errorf("%s, %v: passed with residual %g, error %v", name, op, r.Peer.Residual, err)
			}
		}
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	enough := errors.New("enough")
	cfg := quick()
	cfg.Settle = time.Hour
	time.AfterFunc(20*time.Millisecond, func() { cancel(enough) })
	lib, _ := portable[float64](t)
	if _, err := compare(ctx, cfg, lib, Gemm, Square(64)); !errors.Is(err, enough) {
		t.Errorf("error is %v", err)
	}
}

func TestUnknownVersion(t *testing.T) {
	cfg := quick()
	cfg.Only = []string{"fortran"}
	lib, _ := portable[float64](t)
	if _, err := compare(context.Background(), cfg, lib, Gemm, Square(64)); err == nil {
		t.Error("no error")
	}
}

// Compare compares with the library of the build, or says that there is none.
func TestLibraryOfTheBuild(t *testing.T) {
	info, ok := cpu.BLASLibrary()
	for _, op := range Ops() {
		cfg := quick()
		cfg.Only = nil
		r, err := Compare[float32](context.Background(), cfg, op, Square(130))
		if !ok {
			if !errors.Is(err, ErrNoLibrary) {
				t.Errorf("%v: error is %v", op, err)
			}
			continue
		}
		if err != nil || !r.Passed || r.Library != info.Name || r.Config != info.Config {
			t.Errorf("%v: %+v, %v", op, r, err)
		}
		if info, _ := cpu.BLASLibrary(); info.Threads != 1 {
			t.Errorf("%v leaves the library with %d threads", op, info.Threads)
		}
	}
}

// The checks agree with the residuals that they bound from below.
func TestResidualsBound(t *testing.T) {
	const n = 60
	a, err := generate[float64](matgen.SPD, Square(n), 3)
	if err != nil {
		t.Fatal(err)
	}
	l := append([]float64(nil), a...)
	r := cpu.Portable[float64]()
	if info := r.Potrf(blas.Lower, n, l, n, make([]float64, r.Work(n))); info != 0 {
		t.Fatal("info =", info)
	}
	f := newFactor(9, n, a)
	good := f.lower(l)
	if !(good < 1) {
		t.Errorf("residual %g", good)
	}
	// U = Lᵀ in the other triangle of the same matrix gives the same.
	u := make([]float64, n*n)
	for i := range n {
		for j := range n {
			u[i*n+j] = math.NaN()
			if j >= i {
				u[i*n+j] = l[j*n+i]
			}
		}
	}
	if up := f.upper(u); math.Abs(up-good) > 0.1 {
		t.Errorf("residual %g of L, %g of U", good, up)
	}
	// An element off by δ shows as at least about δ·|L(j,j)|.
	const delta = 1e-3
	l[40*n+11] += delta
	least := delta * l[11*n+11] / f.unit
	if bad := f.lower(l); bad < least/2 {
		t.Errorf("residual %g of a factor off by %g, want at least %g", bad, delta, least/2)
	}
}
