package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFigures: a figure is written as a picture and a table, and what the paper says stands beside it.
func TestFigures(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	code, out, errs := papers(t, "figures", "daphne-10", "--out", dir)
	if code != 0 || !strings.Contains(out, "holds: STATIC is the best") || !strings.Contains(out, "116 in the paper") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	for file, want := range map[string]string{"daphne-10.svg": "<svg", "daphne-10.csv": "simulated,2×10 cores,static,100"} {
		if b, err := os.ReadFile(filepath.Join(dir, file)); err != nil || !strings.Contains(string(b), want) {
			t.Errorf("%s: %v", file, err)
		}
	}
	if code, _, errs = papers(t, "figures", "daphne-11"); code != 2 || !strings.Contains(errs, "daphne-10") {
		t.Errorf("a figure that there is not: exit code %d: %s", code, errs)
	}
}
