package main

import (
	"strings"
	"testing"

	"github.com/tessera-la/tessera/cmd/labench/internal/labtest"
	"github.com/tessera-la/tessera/internal/cli"
)

// TestDidYouMean: what is misspelt is asked about, wherever it stands, and even if flags of
// the command follow that is not there.
func TestDidYouMean(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		{"cholesk", "Did you mean cholesky?"},
		{"cholesk -n 100 --profile none", "unknown command \"cholesk\". Did you mean cholesky?"},
		{"solve --matrx foster", "unknown flag --matrx. Did you mean --matrix?"},
		{"solve --matrix fostre", "Did you mean foster?"},
		{"lu --pivot parial", "Did you mean partial?"},
		{"gemm --sched priorty", "Did you mean priority?"},
		{"gemm -n 20 --versions avx51", "Did you mean avx512?"},
		{"scale gemn", "Did you mean gemm?"},
		{"explain choleski", "Did you mean cholesky?"},
		{"tune choleski", "Did you mean cholesky?"},
		{"list gemn", "Did you mean gemm?"},
		{"cluster pln", "Did you mean plan?"},
		{"cluster plan choleski", "Did you mean cholesky?"},
		{"plan gemn", "Did you mean gemm?"},
	} {
		code, _, errs := labench(t, strings.Fields(test.line)...)
		labtest.Narrow(t, test.line, errs)
		if said := strings.Join(strings.Fields(errs), " "); code != cli.ExitUsage || !strings.Contains(said, test.want) {
			t.Errorf("%s: exit code %d, %s", test.line, code, errs)
		}
	}
	if code, _, errs := labench(t, "frobnicate", "--help"); code != cli.ExitUsage || strings.Contains(errs, "Did you mean") || !strings.Contains(errs, "known: ") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
