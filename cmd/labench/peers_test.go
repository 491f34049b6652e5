package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/tessera-la/tessera/cmd/labench/internal/peers"
	"github.com/tessera-la/tessera/internal/peak"
	"github.com/tessera-la/tessera/kernels/cpu"
	"go.uber.org/goleak"
)

// fakePeers is a machine with a library on which ours is 1.25 times as fast
// for cholesky, and 0.96 times for gemm.
func fakePeers(env map[string]string) *peersMachine {
	compare := func(typ string) func(context.Context, peers.Config, peers.Op, peers.Size) (peers.Result, error) {
		return func(_ context.Context, cfg peers.Config, op peers.Op, size peers.Size) (peers.Result, error) {
			ours, peer := peers.Side{GFLOPSBest: 125, GFLOPSMedian: 120}, peers.Side{GFLOPSBest: 100, GFLOPSMedian: 100}
			if op == peers.Gemm {
				ours.GFLOPSBest = 96
			}
			r := peers.Result{Op: op.String(), Type: typ, M: size.M, N: size.N, Workers: cfg.Workers, Library: "openblas", NB: size.N / 8, Ours: ours, Peer: peer,
				RatioBest: ours.GFLOPSBest / peer.GFLOPSBest, RatioMedian: 1.2, Passed: true}
			if size.N == 13 {
				r.Passed, r.Peer.Residual = false, math.Inf(1)
			}
			return r, nil
		}
	}
	return &peersMachine{
		library:   cpu.BLASInfo{Name: "openblas", Core: "SkylakeX", Config: "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH NO_AFFINITY SkylakeX MAX_THREADS=64", Threads: 1},
		lookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		compare64: compare("f64"), compare32: compare("f32"),
		peak: func(_ context.Context, typ string, workers int) (peak.Rate, error) {
			return peak.Rate{One: 124, All: 124 * float64(workers), Cores: workers, ISA: peak.AVX512}, nil
		},
	}
}

func runPeers(t *testing.T, m *peersMachine, change func(*peersFlags)) (out, errOut string, err error) {
	t.Helper()
	f := peersFlags{sizes: "512,1024", ops: "gemm,cholesky", types: "f64", profile: "none", workers: 2, repeat: 7, warmup: 2, turn: time.Millisecond, settle: time.Millisecond}
	if change != nil {
		change(&f)
	}
	var stdout, stderr bytes.Buffer
	err = f.run(t.Context(), &app{out: &stdout, err: &stderr}, m)
	return stdout.String(), stderr.String(), err
}

func TestPeersTable(t *testing.T) {
	defer goleak.VerifyNone(t)
	out, _, err := runPeers(t, fakePeers(nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > columns {
			t.Errorf("a line of %d columns: %q", n, line)
		}
	}
	for _, want := range []string{
		"openblas, kernels for SkylakeX\n", "DYNAMIC_ARCH", "FMA peak f64: 124.0 GFLOP/s one core, 248.0 on 2 (avx512)\n", `
op                    n   nb   ours median   peer median  ratio
gemm      f64       512   64   96.0  120.0  100.0  100.0  0.960
gemm      f64      1024  128   96.0  120.0  100.0  100.0  0.960
cholesky  f64       512   64  125.0  120.0  100.0  100.0  1.250
cholesky  f64      1024  128  125.0  120.0  100.0  100.0  1.250
`} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}

func TestPeersJSON(t *testing.T) {
	defer goleak.VerifyNone(t)
	out, _, err := runPeers(t, fakePeers(nil), func(f *peersFlags) { f.json, f.types = true, "all" })
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 8 {
		t.Fatalf("%d lines:\n%s", len(lines), out)
	}
	for i, line := range lines {
		var r peers.Result
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if want := []string{"f64", "f32"}[i/4]; r.Type != want || r.PeakGFLOPS != 248 || r.Library != "openblas" {
			t.Errorf("line %d: %s", i, line)
		}
	}
}

func TestPeersRequire(t *testing.T) {
	defer goleak.VerifyNone(t)
	require := func(s ...string) func(*peersFlags) { return func(f *peersFlags) { f.require = s } }
	if _, _, err := runPeers(t, fakePeers(nil), require("cholesky:1024:1.25", "gemm:512:0.95")); err != nil {
		t.Errorf("requirements that are met: %v", err)
	}
	_, _, err := runPeers(t, fakePeers(nil), require("cholesky:1024:1.3", "gemm:512:0.97", "gemm:1024:0.96"))
	var short *shortfallError
	if !errors.As(err, &short) {
		t.Fatalf("error is %v", err)
	}
	for _, want := range []string{"cholesky f64 n=1024", "1.250", "1.3", "gemm f64 n=512", "0.960", "0.97"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %q", want, err)
		}
	}
	if strings.Contains(err.Error(), "gemm f64 n=1024") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error is %q", err)
	}
	// A requirement that nothing would test is a slip of the finger.
	if _, _, err := runPeers(t, fakePeers(nil), require("cholesky:4096:1")); err == nil {
		t.Error("a size that does not run is no error")
	}
	m := fakePeers(nil)
	compare := m.compare64
	m.compare64 = func(ctx context.Context, cfg peers.Config, op peers.Op, size peers.Size) (peers.Result, error) {
		r, err := compare(ctx, cfg, op, size)
		r.RatioBest = math.NaN()
		return r, err
	}
	if _, _, err := runPeers(t, m, require("gemm:512:0.1")); err == nil {
		t.Error("NaN meets a requirement")
	}
}

func TestParseRequirement(t *testing.T) {
	for s, want := range map[string]requirement{
		"cholesky:1024:1.3": {peers.Cholesky, peers.Square(1024), 1.3}, "gemm:4096:0.95": {peers.Gemm, peers.Square(4096), 0.95}, "gemm:1:1e-3": {peers.Gemm, peers.Square(1), 1e-3},
		"lu:65536x512:1.5": {peers.LU, peers.Size{M: 65536, N: 512}, 1.5},
	} {
		got, err := parseRequirement(s)
		if err != nil || got != want {
			t.Errorf("parseRequirement(%q) = %v, %v", s, got, err)
		}
		if again, err := parseRequirement(got.String()); err != nil || again != got {
			t.Errorf("%v reads back as %v, %v", got, again, err)
		}
	}
	for _, s := range []string{"", "gemm", "gemm:1024", "gemm:1024:", "syrk:1024:1", "gemm:0:1", "gemm:-1:1", "gemm:x:1", "gemm:1024:0", "gemm:1024:-1",
		"gemm:1024:NaN", "gemm:1024:Inf", "gemm:1024:1:2", "Gemm:1024:1", " gemm:1024:1"} {
		_, err := parseRequirement(s)
		var bad *listError
		if !errors.As(err, &bad) {
			t.Errorf("parseRequirement(%q): error is %v", s, err)
		} else if !strings.Contains(err.Error(), "op:n:ratio") || !strings.Contains(err.Error(), "gemm, cholesky") {
			t.Errorf("parseRequirement(%q): %q does not say what is allowed", s, err)
		}
	}
}

func TestPeersEnvironment(t *testing.T) {
	defer goleak.VerifyNone(t)
	m := fakePeers(map[string]string{"OPENBLAS_CORETYPE": "Haswell", "OPENBLAS_L2_SIZE": "512"})
	out, _, err := runPeers(t, m, nil)
	if err == nil || out != "" {
		t.Fatalf("it runs: %v\n%s", err, out)
	}
	for _, want := range []string{"OPENBLAS_CORETYPE=Haswell", "OPENBLAS_L2_SIZE=512", "env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE", "--anyway"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %q", want, err)
		}
	}
	_, errOut, err := runPeers(t, m, func(f *peersFlags) { f.anyway = true })
	if err != nil || !strings.Contains(errOut, "OPENBLAS_CORETYPE=Haswell") {
		t.Errorf("anyway: %v, warnings %q", err, errOut)
	}
	m.library.Name = "mkl" // to which the variables mean nothing
	if _, _, err := runPeers(t, m, nil); err != nil {
		t.Error(err)
	}
}

func TestPeersWrongResult(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, asJSON := range []bool{false, true} {
		out, _, err := runPeers(t, fakePeers(nil), func(f *peersFlags) { f.sizes, f.json = "13,512", asJSON })
		if err == nil || !strings.Contains(err.Error(), "gemm f64 n=13: wrong result") || !strings.Contains(err.Error(), "cholesky f64 n=13: wrong result") {
			t.Errorf("error is %v", err)
		}
		if !asJSON && !strings.Contains(out, "! wrong result") {
			t.Errorf("no mark in\n%s", out)
		}
		if asJSON && strings.Count(out, "\n") != 4 {
			t.Errorf("not all is reported:\n%s", out)
		}
	}
}

// What an operation cannot do with a shape is left out.
func TestPeersRectangles(t *testing.T) {
	defer goleak.VerifyNone(t)
	out, _, err := runPeers(t, fakePeers(nil), func(f *peersFlags) { f.sizes, f.ops, f.require = "4096x512,256", "all", []string{"lu:4096x512:1.2"} })
	if err != nil || strings.Count(out, "4096x512") != 3 || !strings.Contains(out, "lu        f64  4096x512   64  125.0") {
		t.Errorf("%v\n%s", err, out)
	}
	for line := range strings.Lines(out) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > columns {
			t.Errorf("a line of %d columns: %q", n, line)
		}
	}
	if _, _, err := runPeers(t, fakePeers(nil), func(f *peersFlags) { f.sizes, f.ops, f.require = "4096x512", "all", []string{"gemm:4096x512:1"} }); err == nil {
		t.Error("a shape that is left out is no error")
	}
	for list, want := range map[string]string{"64:256:x2,96x32,64": "[64 128 256 96x32]", "7": "[7]", "4x4": "[4]"} {
		if got, err := parseSizes("sizes", list); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%q: %v, %v", list, got, err)
		}
	}
	for _, list := range []string{"", "x", "3x", "x3", "3x0", "3x4x5", "3X4", "2:1:1"} {
		var bad *listError
		if got, err := parseSizes("sizes", list); !errors.As(err, &bad) || !strings.Contains(err.Error(), "65536x512") {
			t.Errorf("%q: %v, %v", list, got, err)
		}
	}
}

// An error in the middle comes with what is known by then.
func TestPeersError(t *testing.T) {
	defer goleak.VerifyNone(t)
	m := fakePeers(nil)
	boom := errors.New("boom")
	compare := m.compare64
	m.compare64 = func(ctx context.Context, cfg peers.Config, op peers.Op, size peers.Size) (peers.Result, error) {
		if op == peers.Cholesky {
			return peers.Result{}, boom
		}
		return compare(ctx, cfg, op, size)
	}
	out, _, err := runPeers(t, m, nil)
	if !errors.Is(err, boom) || strings.Count(out, "gemm") != 2 {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestPeersUsage(t *testing.T) {
	defer goleak.VerifyNone(t)
	for name, change := range map[string]func(*peersFlags){
		"sizes": func(f *peersFlags) { f.sizes = "x" }, "ops": func(f *peersFlags) { f.ops = "syrk" }, "type": func(f *peersFlags) { f.types = "f16" },
		"workers": func(f *peersFlags) { f.workers = -1 },
		"repeat":  func(f *peersFlags) { f.repeat = 0 }, "warmup": func(f *peersFlags) { f.warmup = -1 },
		"turn": func(f *peersFlags) { f.turn = -1 }, "settle": func(f *peersFlags) { f.settle = time.Hour },
		"require": func(f *peersFlags) { f.require = []string{"x"} },
	} {
		_, _, err := runPeers(t, fakePeers(nil), change)
		if want := (*usageError)(nil); !errors.As(err, &want) || !strings.Contains(err.Error(), "--"+name) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}

// Without a library the command says how to get one.
func TestPeersWithoutLibrary(t *testing.T) {
	defer goleak.VerifyNone(t)
	m := fakePeers(nil)
	m.library = cpu.BLASInfo{}
	if _, _, err := runPeers(t, m, nil); err == nil || !strings.Contains(err.Error(), "-tags openblas") || !strings.Contains(err.Error(), "mkl") {
		t.Errorf("error is %v", err)
	}
	var out, errOut bytes.Buffer
	a := &app{out: &out, err: &errOut}
	args := []string{"peers", "--sizes", "96", "--repeat", "1", "--turn", "0s", "--settle", "0s", "--anyway", "--profile", "none"}
	_, linked := cpu.BLASLibrary()
	if code, want := a.run(t.Context(), args), map[bool]int{true: exitPassed, false: exitFailed}[linked]; code != want {
		t.Errorf("exit code %d, want %d: %s", code, want, fmt.Sprint(out.String(), errOut.String()))
	}
}
