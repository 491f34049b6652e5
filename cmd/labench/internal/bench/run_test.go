package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/internal/topo"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/mat"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tileSize returns nb, or 0 for an op without tiles.
func tileSize(op string, nb int) int {
	if find(op).Tiled() {
		return nb
	}
	return 0
}

// each runs a test for every op and type.
func each(t *testing.T, f func(t *testing.T, op, typ string)) {
	for _, op := range Ops() {
		for _, typ := range Types() {
			t.Run(op+"/"+typ, func(t *testing.T) { f(t, op, typ) })
		}
	}
}

func TestRun(t *testing.T) {
	each(t, func(t *testing.T, op, typ string) {
		for i, s := range []Spec{
			{Problem: Problem{N: 1}},
			{Problem: Problem{N: 65}},
			{Problem: Problem{N: 33, NB: 33}},
			{Problem: Problem{N: 200, NB: 48}, Local: Local{Workers: 3, Sched: dispatch.FIFO}},
			{Problem: Problem{N: 700}}, // tiles of a size that is chosen
			{Problem: Problem{M: 70, N: 31, K: 130}},
			{Problem: Problem{M: 300, N: 40, K: 5, NB: 32}, Local: Local{Sched: dispatch.Locality}},
		} {
			if typ == "f32" && i%2 == 0 {
				continue
			}
			switch {
			case !find(op).Has("m"):
				s.M = 0
			case op == "lstsq" && s.M == 0:
				s.M = s.N + s.N/2 // not thousands
			}
			if !find(op).Has("k") {
				s.K = 0
			}
			s.NB = tileSize(op, s.NB)
			s.Op, s.Type, s.Repeat, s.Verify, s.NoPeak, s.Seed = op, typ, 2, true, true, 7
			r, err := Run(context.Background(), s)
			if err != nil {
				t.Fatalf("%+v: %v", s, err)
			}
			if !r.Passed || !(r.Residual >= 0 && r.Residual < r.Limit) || r.Failure != "" {
				t.Errorf("%+v: residual %g, passed %v: %s", s, r.Residual, r.Passed, r.Failure)
			}
			if len(r.Times) != 2 || r.SecondsBest > r.SecondsMedian || r.GFLOPSBest < r.GFLOPSMedian || r.GFLOPSMedian <= 0 && s.N > 1 {
				t.Errorf("%+v: times %v, %g and %g s, %g and %g GFLOP/s", s, r.Times, r.SecondsBest, r.SecondsMedian, r.GFLOPSBest, r.GFLOPSMedian)
			}
			calls := 0
			for _, n := range r.Versions {
				calls += n
			}
			if (calls < 2 || calls%2 != 0) && !(op == "solve" && s.N == 1) { // one division is no op
				t.Errorf("%+v: %d calls in two runs: %v", s, calls, r.Versions)
			}
			if !find(op).Tiled() {
				if r.NB != 0 || r.Direct {
					t.Errorf("%+v: nb %d, direct %v, of an op without tiles", s, r.NB, r.Direct)
				}
				continue
			}
			if s.NB > 0 && r.NB != s.NB || r.NB == 0 || r.Direct != (s.NB == 0 && max(r.M, r.N, r.K) <= 200) {
				t.Errorf("%+v: nb %d, direct %v", s, r.NB, r.Direct)
			}
		}
	})
}

// TestEigenKinds: general matrices and generalized problems, with and without vectors.
func TestEigenKinds(t *testing.T) {
	for _, typ := range Types() {
		for _, n := range []int{1, 50, 210} {
			for _, p := range []Problem{{General: true}, {General: true, Matrix: matgen.SPD}, {B: matgen.SPD}, {B: matgen.KMS, Matrix: matgen.MinIJ}} {
				for _, p.Values = range []bool{false, true} {
					p.Op, p.Type, p.N = "eigen", typ, n
					r, err := Run(context.Background(), Spec{Problem: p, Repeat: 1, Warmup: -1, Verify: true, NoPeak: true})
					if err != nil || !r.Passed || len(r.Checks) < 2 || len(r.Stages) < 2 {
						t.Errorf("%+v: %v, %s, %v", p, err, r.Failure, r.Checks)
					}
				}
			}
		}
	}
	for want, p := range map[string]Problem{
		"symmetric matrices": {Op: "eigen", General: true, B: matgen.SPD},
		"are for eigen":      {Op: "svd", General: true},
		"is for eigen":       {Op: "qr", Reduction: la.TwoStages},
		"not definite":       {Op: "eigen", B: matgen.Indefinite},
	} {
		if err := (Spec{Problem: p}).Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

// TestKinds runs every kind of matrix. What cannot be computed must be told,
// and by the right error.
func TestKinds(t *testing.T) {
	const n = 36
	// Kinds whose leading minors are not positive, or by rounding may not be.
	indefinite := []matgen.Kind{matgen.FirstZero, matgen.LastZero, matgen.MiddleZero, matgen.Indefinite, matgen.SPDCondMax,
		matgen.Hilbert, matgen.Prolate, matgen.Beam, matgen.Moler}
	each(t, func(t *testing.T, op, typ string) {
		for i, name := range KindsFor(op) {
			if typ == "f32" && i%4 != len(op)%4 {
				continue // each kind by some op
			}
			kind, err := matgen.ParseKind(name)
			if err != nil {
				t.Fatal(err)
			}
			s := Spec{Problem: Problem{Op: op, Type: typ, N: n, NB: tileSize(op, 16), Matrix: kind}, Repeat: 1, Warmup: -1, Verify: true, NoPeak: true}
			if find(op).Has("m") {
				s.M = n
			}
			r, err := Run(context.Background(), s)
			var npd *la.NotPositiveDefiniteError
			var single *la.SingularError
			var rank mat.Condition
			var diagonal *DiagonalError
			switch {
			case errors.As(err, &diagonal):
				want := map[matgen.Kind]int{matgen.FirstColumnZero: 0, matgen.FirstZero: 0, matgen.ZeroTile: 0, matgen.LastHalfZero: n / 2, matgen.ZeroRow: n / 2,
					matgen.LastColumnZero: n - 1, matgen.LastZero: n - 1, matgen.MiddleZero: n / 2}
				if w, ok := want[kind]; !ok || op != "trsm" || diagonal.Index != w {
					t.Errorf("%v: %v", kind, err)
				}
			case errors.As(err, &single):
				want := map[matgen.Kind]int{matgen.FirstColumnZero: 1, matgen.FirstZero: 1, matgen.ZeroTile: 1, matgen.LastHalfZero: n/2 + 1, matgen.ZeroRow: n,
					matgen.LastColumnZero: n, matgen.LastZero: n, matgen.MiddleZero: n}
				if w, ok := want[kind]; !ok || w != n && single.Column != w {
					t.Errorf("%v: %v", kind, err)
				}
			case errors.As(err, &rank):
				if !slices.Contains([]matgen.Kind{matgen.FirstColumnZero, matgen.LastColumnZero, matgen.LastHalfZero, matgen.ZeroRow, matgen.ZeroTile,
					matgen.FirstZero, matgen.LastZero, matgen.MiddleZero}, kind) || op != "lstsq" {
					t.Errorf("%v: %v", kind, err)
				}
			case errors.As(err, &npd):
				want := map[matgen.Kind]int{matgen.FirstZero: 1, matgen.LastZero: n, matgen.MiddleZero: n/2 + 1, matgen.Indefinite: n}[kind]
				if !slices.Contains(indefinite, kind) || want != 0 && npd.Minor != want {
					t.Errorf("%v: %v", kind, err)
				}
			case err != nil:
				t.Errorf("%v: %v", kind, err)
			case !r.Passed && math.IsNaN(float64(r.Residual)):
				overflows := strings.Contains(name, "huge") && (op == "gemm" || op == "syrk")
				if !overflows {
					t.Errorf("%v: %s", kind, r.Failure)
				}
			case !r.Passed && (op == "lu" || op == "solve") && (kind == matgen.Wilkinson || kind == matgen.Foster):
				if !strings.Contains(r.Failure, "the elements grew by") {
					t.Errorf("%v: %s", kind, r.Failure)
				}
			case !r.Passed:
				t.Errorf("%v: residual %g: %s", kind, r.Residual, r.Failure)
			}
		}
	})
}

func TestSelection(t *testing.T) {
	run := func(s Spec) (Result, error) {
		s.Op, s.N, s.NB, s.NoPeak = "cholesky", 96, 32, true
		return Run(context.Background(), s)
	}
	r, err := run(Spec{Local: Local{Only: []string{"go"}}})
	if err != nil || r.Versions["potrf/go"] != 3*3 || len(r.Versions) != 4 {
		t.Errorf("%v, %v", r.Versions, err)
	}
	r, err = run(Spec{Local: Local{Fixed: []versions.Pin{{Op: "gemm/f64", Version: "go"}}}, Repeat: 2})
	if err != nil || r.Versions["gemm/go"] != 2 {
		t.Errorf("%v, %v", r.Versions, err)
	}
	var unknown *versions.UnknownNameError
	if _, err := run(Spec{Local: Local{Only: []string{"nonesuch"}}}); !errors.As(err, &unknown) || !slices.Contains(unknown.Known, "go") {
		t.Errorf("unknown version: %v", err)
	}
	rec := new(trace.Recorder)
	if _, err := run(Spec{Watch: Watch{Trace: rec}, Repeat: 2, Verify: true}); err != nil || len(rec.Events()) != 2*10 {
		t.Errorf("%d events of 2 runs, %v", len(rec.Events()), err)
	}
}

func TestPeak(t *testing.T) {
	r, err := Run(context.Background(), Spec{Problem: Problem{Op: "gemm", N: 64}, Repeat: 1, Warmup: -1})
	if err != nil || r.PeakGFLOPS <= 0 || r.PeakFraction != r.GFLOPSBest/r.PeakGFLOPS {
		t.Errorf("peak %g, fraction %g, %v", r.PeakGFLOPS, r.PeakFraction, err)
	}
	if !r.Passed || !math.IsNaN(float64(r.Residual)) {
		t.Errorf("without verification: passed %v, residual %g", r.Passed, r.Residual)
	}
}

func TestProgress(t *testing.T) {
	each(t, func(t *testing.T, op, typ string) {
		last, total := 0, 0
		_, err := Run(context.Background(), Spec{Problem: Problem{Op: op, Type: typ, N: 200, NB: tileSize(op, 64)},
			Verify: true,
			NoPeak: true,
			Watch: Watch{Progress: func(done, all int) {
				if done < last || done > all || total != 0 && total != all {
					t.Errorf("%d of %d after %d of %d", done, all, last, total)
				}
				last, total = done, all
			}}})
		if err != nil || total != (1+3+1)*grain || last != total {
			t.Errorf("ended at %d of %d, %v", last, total, err)
		}
	})
}

// TestStages: each part is announced before its tasks, the runs with their numbers.
func TestStages(t *testing.T) {
	var names []string
	within := map[string]bool{}
	_, err := Run(context.Background(), Spec{Problem: Problem{Op: "cholesky", N: 200, NB: 64},
		Local:  Local{Only: []string{"go"}},
		Verify: true,
		NoPeak: true,
		Repeat: 2,
		Watch: Watch{Stage: func(s Stage) {
			if s.Run > 0 && math.Abs(s.Flops-(200.*200*200/3+200*200/2+200./6)) > 1e-6 {
				t.Errorf("%+v", s)
			}
			names = append(names, fmt.Sprintf("%s %d/%d", s.Name, s.Run, s.Runs))
		}, Within: func(done, total int) {
			within[names[len(names)-1]] = done == total && total > 0
		}}})
	want := []string{"preparation 0/0", "preparation 0/0", "warm-up 1/1", "measuring the peak 0/0", "preparation 0/0", "timed 1/2", "preparation 0/0", "timed 2/2", "measuring the peak 0/0", "check 0/0"}
	if err != nil || !slices.Equal(names, want) || !within["warm-up 1/1"] || !within["timed 1/2"] || !within["timed 2/2"] {
		t.Errorf("%q, tasks ended in %v, %v", names, within, err)
	}
}

func TestCancel(t *testing.T) {
	for _, op := range Ops() {
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(why)
		if _, err := Run(ctx, Spec{Problem: Problem{Op: op, N: 100}}); !errors.Is(err, why) {
			t.Errorf("%s: before: %v", op, err)
		}
		for stage := range 5 {
			ctx, cancel := context.WithCancelCause(context.Background())
			_, err := Run(ctx, Spec{Problem: Problem{Op: op, N: 150, NB: tileSize(op, 32)},
				Verify: true,
				NoPeak: true,
				Repeat: 3,
				Watch: Watch{Progress: func(done, total int) {
					if done >= stage*grain {
						cancel(why)
					}
				}}})
			if !errors.Is(err, why) && stage < 4 {
				t.Errorf("%s: in stage %d: %v", op, stage, err)
			}
			cancel(nil)
		}
	}
}

func TestMemory(t *testing.T) {
	for _, op := range Ops() {
		_, err := Run(context.Background(), Spec{Problem: Problem{Op: op, N: 2_000_000}, Verify: true})
		var e *MemoryError
		if !errors.As(err, &e) || e.Need < 4e12*8 {
			t.Errorf("%s: %v", op, err)
		}
		if _, err := Run(context.Background(), Spec{Problem: Problem{Op: op, N: math.MaxInt32, Type: "f32"}}); !errors.As(err, &e) {
			t.Errorf("%s: %v", op, err)
		}
	}
	var e *MemoryError
	p := &distributed[float64]{}
	if a := p.matrix(blocked.Full, 2_000_000_000, 2_000_000_000, 1<<14); a != nil || topo.Detect().Available > 0 && !errors.As(p.err, &e) {
		t.Errorf("tiles of which the driver cannot know all: %v", p.err)
	}
	if n := priorities(3000, 3000, 1); n != 4*3000*3001*6001/6 {
		t.Errorf("%v bytes of priorities", n)
	}
	p = &distributed[float64]{s: Spec{Problem: Problem{Op: "qr"}}}
	if a := p.matrix(blocked.Full, 1<<20, 1<<20, 64); a != nil || topo.Detect().Available > 0 && !(errors.As(p.err, &e) && e.Tiles && e.Need > 4e12) {
		t.Errorf("priorities of QR that need too much: %v", p.err)
	}
	if e := (&MemoryError{Need: 1 << 40, Have: 1 << 34, Of: "a limit"}); e.Error() != "the run needs about 1.0 TiB, and this process can get 16 GiB: a limit" {
		t.Error(e)
	}
}

// TestMemoryNeeded: packed operands count, as does what a matrix was read from.
func TestMemoryNeeded(t *testing.T) {
	const n = 10000
	size := func(s Spec) float64 { return s.WithDefaults().bytes() / (8 * n * n) }
	if x := size(Spec{Problem: Problem{Op: "lu", N: n}}); x < 2.29 { // so much was used
		t.Errorf("lu takes %.3g times the matrix", x)
	}
	if x, y := size(Spec{Problem: Problem{Op: "gemm", N: n}}), size(Spec{Problem: Problem{Op: "gemm", N: n, Type: "f32"}}); x < 3 || x > 3.3 || y < x/2 || y > x/2+.05 {
		t.Errorf("gemm takes %.3g, %.3g times the matrix", x, y)
	}
	if x := size(Spec{Problem: Problem{Op: "trsm", M: n, N: 1}, Input: "a.npy"}); x < 2 {
		t.Errorf("trsm from a file takes %.3g times the matrix", x)
	}
	if x := (Spec{Problem: Problem{Op: "qr", N: 8}}).WithDefaults().bytes(); x > 1<<14 {
		t.Errorf("a small problem takes %g bytes", x)
	}
	before := debug.SetMemoryLimit(-1)
	restore := boundMemory()
	if during := debug.SetMemoryLimit(-1); during > before || topo.Detect().Available > 0 && during > 1<<50 {
		t.Errorf("the limit was %d, and is %d", before, during)
	}
	restore()
	if after := debug.SetMemoryLimit(-1); after != before {
		t.Errorf("the limit was %d, and is %d afterwards", before, after)
	}
}

func TestDefaults(t *testing.T) {
	for _, test := range []struct{ s, want Spec }{
		{Spec{Problem: Problem{Op: "gemm"}}, Spec{Problem: Problem{Op: "gemm", Type: "f64", M: 4096, N: 4096, K: 4096}, Repeat: 3, Warmup: 1}},
		{Spec{Problem: Problem{Op: "gemm", N: 5, K: 2, Type: "f32"}, Repeat: 1, Warmup: -1}, Spec{Problem: Problem{Op: "gemm", Type: "f32", M: 5, N: 5, K: 2}, Repeat: 1, Warmup: -1}},
		{Spec{Problem: Problem{Op: "syrk", N: 5}}, Spec{Problem: Problem{Op: "syrk", Type: "f64", M: 5, N: 5, K: 5}, Repeat: 3, Warmup: 1}},
		{Spec{Problem: Problem{Op: "trsm", N: 5}}, Spec{Problem: Problem{Op: "trsm", Type: "f64", M: 5, N: 5, Matrix: matgen.SPD}, Repeat: 3, Warmup: 1}},
		{Spec{Problem: Problem{Op: "cholesky", M: 6}}, Spec{Problem: Problem{Op: "cholesky", Type: "f64", M: 6, N: 6, Matrix: matgen.SPD}, Repeat: 3, Warmup: 1}},
		{Spec{Problem: Problem{Op: "cholesky"}, Input: "x"}, Spec{Problem: Problem{Op: "cholesky", Type: "f64", Matrix: matgen.SPD}, Input: "x", Repeat: 3, Warmup: 1}},
	} {
		if got := test.s.WithDefaults(); fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", test.want) {
			t.Errorf("%+v became %+v", test.s, got)
		}
	}
}

func TestValidate(t *testing.T) {
	beyond := int64(math.MaxInt32) + 1 // no constant, for machines whose int has 32 bits
	for _, test := range []struct {
		s    Spec
		want string // a part of the error
	}{
		{Spec{Problem: Problem{Op: "gemm", N: 3}}, ""},
		{Spec{Problem: Problem{Op: "cooking"}}, `unknown operation "cooking"; known: gemm, syrk, trsm, cholesky, lu, qr, solve, lstsq`},
		{Spec{Problem: Problem{Op: "gemm", Type: "f16"}}, `unknown type "f16"; known: f64, f32`},
		{Spec{Problem: Problem{Op: "gemm", N: -1}}, "n is -1"},
		{Spec{Problem: Problem{Op: "gemm", N: 1, K: int(beyond)}}, "k is 2147483648"},
		{Spec{Problem: Problem{Op: "trsm", K: 3}}, "trsm has no k"},
		{Spec{Problem: Problem{Op: "syrk", M: 2, N: 3}}, "square"},
		{Spec{Problem: Problem{Op: "cholesky", M: 2, N: 3}}, "square"},
		{Spec{Problem: Problem{Op: "gemm", NB: -1}}, "nb is -1"},
		{Spec{Problem: Problem{Op: "gemm", NB: 1 << 20}}, "nb is"},
		{Spec{Problem: Problem{Op: "gemm"}, Local: Local{Workers: -1}}, "workers is -1"},
		{Spec{Problem: Problem{Op: "gemm"}, Repeat: -1}, "repeat is -1"},
		{Spec{Problem: Problem{Op: "gemm"}, Local: Local{Sched: 99}}, "unknown policy"},
		{Spec{Problem: Problem{Op: "gemm", Matrix: 99}}, "unknown kind"},
		{Spec{Problem: Problem{Op: "cholesky", Matrix: matgen.Kahan}}, "not symmetric; for cholesky there are: spd,"},
		{Spec{Problem: Problem{Op: "gemm", Matrix: matgen.SPD, N: 3, K: 4}}, "square"},
		{Spec{Problem: Problem{Op: "syrk", Matrix: matgen.SPD, N: 3, K: 4}}, "square"},
		{Spec{Problem: Problem{Op: "syrk", Matrix: matgen.Graded, N: 3, K: 4}}, ""},
		{Spec{Problem: Problem{Op: "gemm", NB: -1}, Local: Local{Workers: -1}}, "; workers is"},
	} {
		err := test.s.Validate()
		var invalid *InvalidError
		switch {
		case test.want == "" && err != nil, test.want != "" && (!errors.As(err, &invalid) || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%+v: %v, want %q", test.s, err, test.want)
		}
		if test.want == "" {
			continue
		}
		if _, runErr := Run(context.Background(), test.s); runErr == nil || runErr.Error() != err.Error() {
			t.Errorf("%+v: Run says %v", test.s, runErr)
		}
	}
}
