package ops

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/cmd/labench/internal/labtest"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/internal/quiet"
)

func TestReport(t *testing.T) {
	usages := []trace.Usage{
		{Op: "gemm/f64", Version: "openblas", Calls: 1680, Busy: 2194 * time.Millisecond},
		{Op: "potrf/f64", Version: "go", Calls: 2, Busy: 35 * time.Microsecond},
		{Op: "potrf/f64", Version: "a-version-with-a-long-name", Calls: 46, Busy: 27866 * time.Microsecond},
		{Op: "trsm/f64", Version: "openblas-split", Calls: 123456789, Busy: 1009 * time.Millisecond},
	}
	r := bench.Result{Op: "cholesky", Type: "f64", M: 4096, N: 4096, NB: 256, Workers: 2, Sched: "priority",
		SecondsBest: 0.478384, SecondsMedian: 1.590411, GFLOPSBest: 47.9, GFLOPSMedian: 14.41, PeakGFLOPS: 247.7, PeakFraction: 0.1934,
		Residual: 0.0033, Passed: true, Limit: 30, Formula: bench.Formula("cholesky"),
		Times: []time.Duration{1600 * time.Millisecond, 478 * time.Millisecond, 1590 * time.Millisecond}, Summary: trace.Summary{Usage: usages}}
	s := bench.Spec{Problem: bench.Problem{Op: "cholesky", N: 4096, Seed: 1}, Verify: true}.WithDefaults()
	wrong, direct, unchecked, rectangle := r, r, r, r
	wrong.Residual, wrong.Passed, wrong.Failure = bench.Number(math.NaN()), false, "the result holds infinities or NaN"
	direct.Direct, direct.M, direct.N, direct.NB = true, 100, 100, 100
	direct.SecondsBest, direct.GFLOPSBest, direct.Summary.Usage = 1.25e-6, 1e-4, usages[1:2]
	unchecked.PeakGFLOPS = 0
	direct.PeakGFLOPS, direct.PeakFraction = 5e-5, 2
	busy, near, mixed := r, r, r
	busy.Load, busy.PeakDisturbed, busy.Spread, busy.Disturbed = &quiet.Load{Seconds: 3.7, CPUs: 2, Others: 0.8, Steal: 0.1}, true, 2.35, true
	near.PeakFraction = 1.004
	mixed.PeakFraction, mixed.Refinement, mixed.Spread, mixed.Disturbed = 1.7, &bench.Refinement{Iterations: 2}, 0.4, true
	notVerified := s
	notVerified.Verify, notVerified.Input = false, "/a/directory/with/a/long/name/and/another/one/in/it/matrix-with-a-long-name.mtx.gz"
	rectangle.Op, rectangle.M, rectangle.K, rectangle.Formula, rectangle.Limit = "gemm", 10, 2000000, bench.Formula("gemm"), 3
	rectangle.Residual, rectangle.Passed, rectangle.Failure = 1.5e11, false, "element (0, 0) of the product is 1 and should be 2"
	random := s
	random.Op, random.Matrix = "gemm", matgen.Random
	var b bytes.Buffer
	a := &cli.App{Out: &b}
	for _, x := range []struct {
		s bench.Spec
		r bench.Result
	}{{s, r}, {s, wrong}, {s, direct}, {notVerified, unchecked}, {random, rectangle}, {s, busy}, {s, near}, {s, mixed}} {
		if err := Print(a, x.s, x.r); err != nil {
			t.Fatal(err)
		}
		b.WriteByte('\n')
	}
	// The first line names the machine that the test runs on.
	var text strings.Builder
	for line := range strings.Lines(b.String()) {
		if !strings.HasPrefix(line, "machine") {
			text.WriteString(line)
		}
	}
	for line := range strings.Lines(text.String()) {
		if !strings.Contains(line, "/a/directory") { // a word cannot be broken
			labtest.Narrow(t, "report", line)
		}
	}
	labtest.Golden(t, "report", text.String())
}
