package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/cmd/labench/internal/labtest"
	"github.com/tessera-la/tessera/internal/cli"
	"go.uber.org/goleak"
)

// The whole way, through the root command and la.
func TestScaleRuns(t *testing.T) {
	defer goleak.VerifyNone(t, labtest.Stays()...)
	plot := filepath.Join(t.TempDir(), "plot.png")
	var out, errOut bytes.Buffer
	a := &cli.App{Out: &out, Err: &errOut, NoPeak: true}
	args := []string{"scale", "gemm", "-n", "64,150", "--workers", "1,2", "--nb", "48,auto", "--versions", "go", "--type", "f32", "--profile", "none", "--plot", plot}
	if code := run(t.Context(), a, args); code != cli.ExitPassed {
		t.Fatalf("exit code %d: %s", code, errOut.String())
	}
	text, _, _ := strings.Cut(out.String(), "~ disturbed,") // as chance has it
	if n := strings.Count(text, "\n"); n != 8+8 {
		t.Errorf("%d lines:\n%s", n, out.String())
	}
	labtest.CheckPicture(t, plot)
	if code := run(t.Context(), a, []string{"scale", "gemm", "syrk"}); code != cli.ExitUsage {
		t.Errorf("exit code of two operations: %d", code)
	}
}
