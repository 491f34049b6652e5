package main

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/tessera-la/tessera/kernels/builtin"
)

// hill is a machine whose product is fastest with KC = 320 and NC = 1024; what
// follows from the caches is KC = 256, MC = 192 and NC = 4096.
func hill(_ context.Context, _ string, _ int, b builtin.Blocks) (float64, error) {
	or := func(x, byDefault int) float64 {
		if x == 0 {
			x = byDefault
		}
		return float64(x)
	}
	far := func(x, best float64) float64 { return math.Abs(math.Log(x / best)) }
	return 100 / (1 + 0.3*far(or(b.KC, 256), 320) + 0.2*far(or(b.MC, 192), 192) + 0.1*far(or(b.NC, 4096), 1024)), nil
}

func TestTuneBlocks(t *testing.T) {
	later := time.Now().Add(time.Hour)
	got, err := tuneBlocks(t.Context(), "f64", 1024, later, hill)
	if err != nil || got.Best.KC != 320 || got.Best.MC != 0 || got.Best.NC != 1024 || !got.Complete || got.ByGFLOPS >= got.Best.GFLOPS {
		t.Errorf("%+v, %v", got.Best, err)
	}
	got.Version = "avx512"
	text := got.report(paint{})
	narrow(t, "blocks", text)
	if !strings.Contains(text, "MC -, KC 320, NC 1024: ") || !strings.Contains(text, "gemm f64, n = 1024, version avx512, one core") {
		t.Errorf("%s", text)
	}
	flat := func(context.Context, string, int, builtin.Blocks) (float64, error) { return 7, nil }
	if got, err = tuneBlocks(t.Context(), "f32", 1024, later, flat); err != nil || got.Best.blocks() != (builtin.Blocks{}) ||
		len(got.Points) != 1+27 || !strings.Contains(got.report(paint{}), "nothing is more than 1 % faster") {
		t.Errorf("flat: %+v, %v", got.Best, err)
	}
	if got, err = tuneBlocks(t.Context(), "f32", 1024, time.Now(), flat); err != nil || got.Complete || len(got.Points) != 1 ||
		!strings.Contains(got.report(paint{}), "--budget") {
		t.Errorf("without time: %+v, %v", got, err)
	}
	boom := errors.New("boom")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(boom)
	if _, err := tuneBlocks(ctx, "f64", 10, later, flat); err != boom {
		t.Errorf("cancelled: %v", err)
	}
}

// The whole way, through the root command and the kernels.
func TestTuneBlocksRuns(t *testing.T) {
	code, out, errs := labench(t, "tune", "--blocks", "-n", "64", "--type", "f64", "--budget", "1ms", "--json")
	if blockVersion() == "" {
		if code != exitFailed || !strings.Contains(errs, "avx512 and avx2") {
			t.Errorf("without assembly: exit code %d: %s", code, errs)
		}
		return
	}
	var got tunedBlocks
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != exitPassed || got.N != 64 || got.Version != blockVersion() || !(got.ByGFLOPS > 0) {
		t.Errorf("exit code %d, %v: %s%s", code, err, out, errs)
	}
	code, out, errs = labench(t, "tune", "--blocks", "-n", "64", "--type", "f32", "--budget", "1ms")
	narrow(t, "blocks", out)
	if code != exitPassed || !strings.Contains(out, "gemm f32, n = 64") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	if code, _, errs = labench(t, "tune", "cholesky", "--blocks", "-n", "64"); code != exitUsage || !strings.Contains(errs, "gemm") {
		t.Errorf("blocks of cholesky: exit code %d: %s", code, errs)
	}
}
