package main

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/cmd/labench/internal/explain"
	"github.com/tessera-la/tessera/cmd/labench/internal/labtest"
	"github.com/tessera-la/tessera/internal/cli"
)

// The whole way, as text and as JSON.
func TestExplain(t *testing.T) {
	code, out, errs := labench(t, "explain", "cholesky", "-n", "150", "--nb", "32", "--workers", "2", "--versions", "go")
	labtest.Narrow(t, "explain", out)
	if code != cli.ExitPassed || errs != "" || !strings.Contains(out, "times as fast as one.") || !strings.Contains(out, "gemm/f64") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	code, out, errs = labench(t, "explain", "gemm", "-n", "150", "--nb", "64", "--workers", "2", "--json")
	var d explain.Document
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != cli.ExitPassed {
		t.Fatalf("exit code %d, %v: %s", code, err, errs)
	}
	sum := 0.0
	for _, l := range d.Losses {
		sum += l.Share
	}
	if d.Op != "gemm" || d.NB != 64 || d.One.Workers != 1 || d.All.Workers != 2 || len(d.Losses) != 8 || len(d.Verdict) == 0 ||
		sum-d.Lost > 1e-6 || d.Lost-sum > 1e-6 || len(d.Ops) != 1 || d.Ops[0].TasksOne != d.Ops[0].TasksAll || d.Path.Tasks == 0 {
		t.Errorf("%s", out)
	}

	// One kernel has nothing to scale.
	if code, out, errs = labench(t, "explain", "gemm", "-n", "20", "--workers", "2"); code != cli.ExitPassed || !strings.Contains(out, "one kernel") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	d = explain.Document{}
	if _, out, _ = labench(t, "explain", "gemm", "-n", "20", "--workers", "2", "--json"); json.Unmarshal([]byte(out), &d) != nil || !d.Direct || len(d.Verdict) != 1 {
		t.Error(out)
	}
	for _, args := range [][]string{{"explain"}, {"explain", "frobnicate"}, {"explain", "gemm", "cholesky"}, {"explain", "gemm", "--workers", "1"},
		{"explain", "gemm", "--trace", "x.prv"}, {"explain", "gemm", "--nb", "-3"}} {
		if code, out, errs := labench(t, args...); code != cli.ExitUsage || out != "" || errs == "" {
			t.Errorf("%v: exit code %d: %s%s", args, code, out, errs)
		}
	}
	for _, args := range [][]string{{"explain", "--help"}, {"explain", "lu", "--help"}, {"explain", "lu", "--matrix", "help"}} {
		code, out, errs := labench(t, args...)
		labtest.Narrow(t, strings.Join(args, " "), out)
		if code != cli.ExitPassed || out == "" {
			t.Errorf("%v: exit code %d: %s", args, code, errs)
		}
	}
}

// What goes wrong with one side is the error of both.
func TestExplainErrors(t *testing.T) {
	code, out, errs := labench(t, "explain", "cholesky", "-n", "300", "--matrix", "middle-zero", "--workers", "2")
	if code != cli.ExitFailed || out != "" || !strings.Contains(errs, "not positive definite") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	if err := (bench.Result{Passed: true}).Wrong(); err != nil {
		t.Error(err)
	}
	var bad *bench.WrongError
	if err := (bench.Result{Failure: "it is"}).Wrong(); !errors.As(err, &bad) || bad.Reason != "it is" {
		t.Error(err)
	}
}
