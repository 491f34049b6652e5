package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/cmd/labench/internal/labtest"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/engine"
	"github.com/tessera-la/tessera/versions"
)

// The whole way, through the root command and la: what tune saves is what la
// chooses.
func TestTuneRuns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "profile.json")
	code, out, errs := labench(t, "tune", "syrk", "trsm", "gemm", "cholesky", "-n", "600", "--type", "f32", "--workers", "2",
		"--nb", "100,150", "--budget", "1h", "--profile", path) // of which it takes seconds
	if code != cli.ExitPassed || errs != "" {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	labtest.Narrow(t, "tune", out)
	p, _, err := versions.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	e, err := la.NewEngine(la.Options{Workers: 2, Profile: p})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	sizes := p.TileSizes()
	if len(sizes) != 4 {
		t.Fatalf("%v", sizes)
	}
	for i, op := range []engine.Operation{engine.OpCholesky, engine.OpGemm, engine.OpSyrk, engine.OpTrsm} {
		// As many tiles as with the tuned size, and evenly.
		parts := (700 + sizes[i].NB - 1) / sizes[i].NB
		want := ((700+parts-1)/parts + 7) / 8 * 8
		if nb, _ := engine.TileSize[float32](e, op, 700, 700); sizes[i].Op != engine.TuningKey[float32](op) || nb != want {
			t.Errorf("%v: la takes %d, tuned is %+v", op, nb, sizes[i])
		}
	}
	if len(p.Timings()) == 0 {
		t.Error("nothing was learned of the versions")
	}
	labtest.Narrow(t, "labench tune --help", mustRun(t, "tune", "--help"))
	if code, _, errs := labench(t, "tune", "cooking"); code != cli.ExitUsage || !strings.Contains(errs, "cholesky") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if code, _, _ := labenchIn(t, ctx, "tune", "--profile", filepath.Join(t.TempDir(), "none.json")); code != cli.ExitInterrupted {
		t.Errorf("interrupted: exit code %d", code)
	}
}

func mustRun(t *testing.T, args ...string) string {
	t.Helper()
	code, out, errs := labench(t, args...)
	if code != cli.ExitPassed {
		t.Fatalf("%v: exit code %d: %s", args, code, errs)
	}
	return out
}
