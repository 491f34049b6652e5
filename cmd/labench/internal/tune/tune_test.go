package tune

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/cmd/labench/internal/labtest"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/la/engine"
	"github.com/tessera-la/tessera/versions"
	"go.uber.org/goleak"
)

// fakeTrial is a machine on which tiles of a quarter of the order are the
// fastest, twice as fast in single precision, and 64 is the default.
func fakeTrial(_ context.Context, s bench.Problem, l bench.Local) (*bench.Trial, error) {
	t := &bench.Trial{Default: 64, Direct: s.N <= 128, Op: engine.OpCholesky, Key: s.Op + "/" + s.Type, N: s.N, Flops: 1e9,
		Workers: max(l.Workers, 1), Target: exec.Here(), Close: func() error { return nil }}
	t.Time = func(_ context.Context, nb int) (time.Duration, error) {
		x := math.Log2(float64(4*nb) / float64(s.N))
		seconds := 0.01 * (1 + x*x/4)
		if s.Type == "f32" {
			seconds /= 2
		}
		return time.Duration(seconds * 1e9), nil
	}
	return t, nil
}

// tuneFake runs labench tune on open and returns what it wrote.
func tuneFake(t *testing.T, ctx context.Context, f tuneFlags, open trialFunc) (out, errs string, err error) {
	t.Helper()
	for _, d := range []struct {
		field *string
		value string
	}{{&f.sizes, "512,1024"}, {&f.types, "f64"}, {&f.profile, "none"}} {
		if *d.field == "" {
			*d.field = d.value
		}
	}
	if f.budget == 0 {
		f.budget = time.Hour
	}
	var stdout, stderr bytes.Buffer
	a := &cli.App{Out: &stdout, Err: &stderr, Cores: 64}
	err = runTune(ctx, a, &f, open)
	if !f.json {
		labtest.Narrow(t, "tune", stdout.String())
	}
	labtest.Narrow(t, "tune", stderr.String())
	return stdout.String(), stderr.String(), err
}

func TestTuneReport(t *testing.T) {
	defer goleak.VerifyNone(t, labtest.Stays()...)
	out, errs, err := tuneFake(t, t.Context(), tuneFlags{ops: []string{"cholesky"}, types: "f32, f64", budget: 90 * time.Minute, sizes: "1024,100,256"}, fakeTrial)
	if err != nil || errs != "" {
		t.Fatal(err, errs)
	}
	labtest.Golden(t, "tune", out[strings.Index(out, "6 problems"):]) // without the machine
}

// A table that is too wide has several rows of rates.
func TestTuneWide(t *testing.T) {
	open := func(ctx context.Context, s bench.Problem, l bench.Local) (*bench.Trial, error) {
		trial, err := fakeTrial(ctx, s, l)
		trial.Time = func(_ context.Context, nb int) (time.Duration, error) {
			return 10*time.Millisecond + time.Duration(nb), nil
		}
		return trial, err
	}
	out, _, err := tuneFake(t, t.Context(), tuneFlags{sizes: "2147483647", nb: "2:16384:x2"}, open)
	if err != nil || strings.Count(out, "GFLOP/s ") != 4 {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestTuneSaves(t *testing.T) {
	defer goleak.VerifyNone(t, labtest.Stays()...)
	path := filepath.Join(t.TempDir(), "profile.json")
	old := new(versions.Profile)
	old.SetTileSize("trsm/f64", exec.Here(), 1, 512, 48, 1e9)
	old.SetTileSize("gemm/f64", exec.Here(), 1, 512, 48, 1e9)
	if _, err := old.Save(path); err != nil {
		t.Fatal(err)
	}
	out, errs, err := tuneFake(t, t.Context(), tuneFlags{profile: path, sizes: "100,512,1024", workers: "1,2"}, fakeTrial)
	if err != nil || errs != "" || !strings.Contains(strings.Join(strings.Fields(out), " "), "8 tile sizes saved in "+path) {
		t.Fatalf("%v %s\n%s", err, errs, out)
	}
	p, warning, err := versions.Load(path)
	if err != nil || warning != nil {
		t.Fatal(err, warning)
	}
	got := map[string]int{}
	for _, s := range p.TileSizes() {
		got[fmt.Sprint(s.Op, " ", s.Workers, " ", s.N)] = s.NB
		if s.NB != 48 && math.Abs(s.Rate-1e11) > 2e9 {
			t.Errorf("%+v", s)
		}
	}
	want := map[string]int{"trsm/f64 1 512": 48}
	for _, op := range []string{"cholesky", "gemm"} {
		for _, w := range []string{"1", "2"} {
			want[op+"/f64 "+w+" 512"], want[op+"/f64 "+w+" 1024"] = 128, 256
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The end of ctx saves what is finished.
func TestTuneInterrupt(t *testing.T) {
	defer goleak.VerifyNone(t, labtest.Stays()...)
	path := filepath.Join(t.TempDir(), "profile.json")
	ctx, cancel := context.WithCancel(t.Context())
	open := func(ctx context.Context, s bench.Problem, l bench.Local) (*bench.Trial, error) {
		trial, err := fakeTrial(ctx, s, l)
		if s.N == 1024 {
			trial.Time = func(ctx context.Context, _ int) (time.Duration, error) {
				cancel()
				return 0, context.Cause(ctx)
			}
		}
		return trial, err
	}
	_, errs, err := tuneFake(t, ctx, tuneFlags{profile: path}, open)
	if !errors.Is(err, context.Canceled) || !strings.Contains(errs, "interrupted after 2 of 4 problems") {
		t.Errorf("%v, %s", err, errs)
	}
	p, _, err := versions.Load(path)
	if err != nil || len(p.TileSizes()) != 2 {
		t.Errorf("%v, %v", p.TileSizes(), err)
	}
}

// When the time is over, measurements are broken off; what was not begun or not
// finished is said, and not saved. That is no failure.
func TestTuneBudget(t *testing.T) { synctest.Test(t, tuneBudget) }

func tuneBudget(t *testing.T) {
	path := filepath.Join(t.TempDir(), "profile.json")
	open := func(ctx context.Context, s bench.Problem, l bench.Local) (*bench.Trial, error) {
		trial, err := fakeTrial(ctx, s, l)
		trial.Time = func(ctx context.Context, _ int) (time.Duration, error) {
			<-ctx.Done()
			return 0, context.Cause(ctx)
		}
		return trial, err
	}
	begin := time.Now()
	out, _, err := tuneFake(t, t.Context(), tuneFlags{profile: path, budget: 20 * time.Millisecond}, open)
	if err != nil || time.Since(begin) > 10*time.Second {
		t.Errorf("%v after %v", err, time.Since(begin))
	}
	for text, want := range map[string]int{"not finished: too little": 1, "not begun: ": 3, "4 of 4 problems not finished in 20ms": 1, "nothing to save": 1} {
		if n := strings.Count(out, text); n != want {
			t.Errorf("%d times %q in\n%s", n, text, out)
		}
	}
	if p, _, err := versions.Load(path); err != nil || len(p.TileSizes()) != 0 {
		t.Errorf("%v, %v", p, err)
	}
}

// Problems that fail do not keep the others from being tuned.
func TestTuneFailures(t *testing.T) {
	defer goleak.VerifyNone(t, labtest.Stays()...)
	open := func(ctx context.Context, s bench.Problem, l bench.Local) (*bench.Trial, error) {
		if s.N == 512 && s.Op == "gemm" {
			return nil, errors.New("device\nlost")
		}
		return fakeTrial(ctx, s, l)
	}
	out, _, err := tuneFake(t, t.Context(), tuneFlags{json: true}, open)
	if err == nil || err.Error() != "gemm f64, n = 512: device; lost" {
		t.Errorf("error is %v", err)
	}
	var rows []tunedRow
	for d := json.NewDecoder(strings.NewReader(out)); d.More(); {
		var r tunedRow
		if err := d.Decode(&r); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	if len(rows) != 4 {
		t.Fatalf("%d rows:\n%s", len(rows), out)
	}
	if r := rows[0]; r.Op != "cholesky" || r.N != 512 || r.NB != 128 || r.Default != 64 || math.Abs(r.GFLOPS-100) > 1e-9 ||
		math.Abs(r.ByGFLOPS-80) > 1e-9 || !r.Complete || r.Error != "" || len(r.Points) < 3 || r.Points[0].Count < 1 {
		t.Errorf("%+v", r)
	}
	if r := rows[1]; r.Error != "device lost" || r.NB != 0 || r.Complete || r.Points == nil {
		t.Errorf("%+v", r)
	}
}

// What is wrong with the command line is said at once, before anything runs.
func TestTuneUsage(t *testing.T) {
	defer goleak.VerifyNone(t, labtest.Stays()...)
	never := func(context.Context, bench.Problem, bench.Local) (*bench.Trial, error) {
		t.Error("something ran")
		return nil, errors.New("never")
	}
	for _, f := range []tuneFlags{
		{ops: []string{"cooking"}}, {types: "f16"}, {types: "f64,"}, {sizes: "big"}, {sizes: "0"}, {workers: "0"}, {nb: "auto"}, {nb: "40000"},
		{budget: -time.Second}, {versions: "go,,go"}, {workers: "20000"},
		{sizes: "1:1000:1", workers: "1:6:1"},
	} {
		_, _, err := tuneFake(t, t.Context(), f, never)
		if want := (*cli.UsageError)(nil); !errors.As(err, &want) {
			t.Errorf("%+v: error is %v", f, err)
		}
	}
	_, _, err := tuneFake(t, t.Context(), tuneFlags{ops: []string{"cooking"}, sizes: "big"}, never)
	if err == nil || !strings.Contains(err.Error(), "cooking") || !strings.Contains(err.Error(), "big") {
		t.Errorf("error is %v", err)
	}
	_, _, err = tuneFake(t, t.Context(), tuneFlags{versions: "fortran"}, never)
	if want := (*versions.UnknownNameError)(nil); !errors.As(err, &want) {
		t.Errorf("error is %v", err)
	}
}
