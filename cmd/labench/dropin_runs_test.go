package main

import (
	"strings"
	"testing"

	"github.com/tessera-la/tessera/cmd/labench/internal/labtest"
	"github.com/tessera-la/tessera/internal/cli"
)

// The whole way, through the root command, gonum and la.
func TestDropinRuns(t *testing.T) {
	code, out, errs := labench(t, "dropin", "--sizes", "96", "--repeat", "1")
	labtest.Narrow(t, "dropin", out)
	if code != cli.ExitPassed || strings.Count(out, " 96 ") != 4 {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
}
