package dropin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/cmd/labench/internal/labtest"
	"github.com/tessera-la/tessera/cmd/labench/internal/matcalls"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/kernels/cpu"
)

// fakeDropin is a machine on which la/dropin is 12 times as fast as gonum, and
// twice as fast as netlib, if it has that.
func fakeDropin(netlib bool, env map[string]string) *dropinMachine {
	return &dropinMachine{
		library:   cpu.BLASInfo{Name: "openblas", Core: "SkylakeX"},
		lookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		netlib:    netlib,
		compare: func(_ context.Context, cfg matcalls.Config, op matcalls.Op, n int) (matcalls.Result, error) {
			side := func(rate float64) matcalls.Side { return matcalls.Side{GFLOPSBest: rate, GFLOPSMedian: rate - 1} }
			r := matcalls.Result{Op: op.String(), N: n, Workers: cfg.Workers, Dropin: side(120), Gonum: side(10), OverGonum: 12, Passed: n != 13}
			if netlib {
				s, ratio := side(60), 2.0
				r.Netlib, r.OverNetlib = &s, &ratio
			}
			return r, nil
		},
	}
}

func runDropin(t *testing.T, m *dropinMachine, change func(*dropinFlags)) (out, errOut string, err error) {
	t.Helper()
	f := dropinFlags{sizes: "512,1024", ops: "mul,qr", workers: 2, repeat: 7}
	if change != nil {
		change(&f)
	}
	var stdout, stderr bytes.Buffer
	err = f.run(t.Context(), &cli.App{Out: &stdout, Err: &stderr, Cores: 2}, m)
	if !f.json {
		labtest.Narrow(t, "dropin", stdout.String()+stderr.String())
	}
	return stdout.String(), stderr.String(), err
}

func TestDropinTable(t *testing.T) {
	out, _, err := runDropin(t, fakeDropin(true, nil), nil)
	const want = `
netlib: openblas, kernels for SkylakeX, 2 threads
la/dropin: 2 workers; GFLOP/s, best of 7 turns; ratio = dropin over the others

 mat           n     dropin   median     netlib    gonum     ratio     ratio
 mul         512      120.0    119.0       60.0     10.0     2.000    12.000
 mul        1024      120.0    119.0       60.0     10.0     2.000    12.000
 qr          512      120.0    119.0       60.0     10.0     2.000    12.000
 qr         1024      120.0    119.0       60.0     10.0     2.000    12.000
`
	if err != nil || !strings.HasSuffix(out, want) {
		t.Errorf("%v\n%s", err, out)
	}
	out, _, err = runDropin(t, fakeDropin(false, nil), func(f *dropinFlags) { f.sizes = "13" })
	if err == nil || !strings.Contains(err.Error(), "mul n=13: wrong result") || !strings.Contains(out, "! wrong result") ||
		!strings.Contains(out, "mul          13      120.0    119.0          -     10.0         -    12.000\n") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestDropinJSON(t *testing.T) {
	out, _, err := runDropin(t, fakeDropin(true, nil), func(f *dropinFlags) { f.json = true })
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if err != nil || len(lines) != 4 {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, line := range lines {
		var r matcalls.Result
		if err := json.Unmarshal([]byte(line), &r); err != nil || *r.OverNetlib != 2 || r.OverGonum != 12 || r.Library != "openblas" {
			t.Errorf("%v: %s", err, line)
		}
	}
}

func TestDropinUsage(t *testing.T) {
	var wrong *cli.UsageError
	for name, change := range map[string]func(*dropinFlags){
		"n": func(f *dropinFlags) { f.sizes = "x" }, "ops": func(f *dropinFlags) { f.ops = "svd" },
		"workers": func(f *dropinFlags) { f.workers = -1 }, "repeat": func(f *dropinFlags) { f.repeat = 0 },
	} {
		if _, _, err := runDropin(t, fakeDropin(true, nil), change); !errors.As(err, &wrong) || !strings.Contains(err.Error(), cli.Dashed(name)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	env := map[string]string{"OPENBLAS_CORETYPE": "Haswell"}
	if out, _, err := runDropin(t, fakeDropin(true, env), nil); err == nil || out != "" || !strings.Contains(err.Error(), "labench dropin") {
		t.Errorf("a straw man: %v\n%s", err, out)
	}
	if _, _, err := runDropin(t, fakeDropin(false, env), nil); err != nil {
		t.Errorf("a straw man that does not take part: %v", err)
	}
	boom := errors.New("boom")
	m := fakeDropin(true, nil)
	m.compare = func(context.Context, matcalls.Config, matcalls.Op, int) (matcalls.Result, error) {
		return matcalls.Result{}, boom
	}
	if _, _, err := runDropin(t, m, nil); !errors.Is(err, boom) {
		t.Error(err)
	}
}
