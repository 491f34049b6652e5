package main

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"testing/fstest"
	"time"
	"unicode/utf8"

	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/cmd/labench/internal/quiet"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/internal/peak"
	"github.com/tessera-la/tessera/internal/topo"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
)

func TestList(t *testing.T) {
	none := func(name, typ string) *versions.Op {
		return &versions.Op{Name: name, Type: typ, Versions: []versions.Version{
			{Name: "avx512", Constraints: versions.Constraints{Features: []string{"avx512f"}}},
			{Name: "avx2", Constraints: versions.Constraints{Features: []string{"avx2", "fma3"}}},
			{Name: "knl", Constraints: versions.Constraints{Processor: "KNL", Units: 4}},
			{Name: "go"},
		}}
	}
	ops := []*versions.Op{none("gemm", "f32"), none("potrf", "f32"), none("gemm", "f64"), none("potrf", "f64")}
	absent := []op.AbsentVersion{{Op: "gemm", Type: "f32", Name: "openblas", Reason: "built without tag openblas"},
		{Op: "gemm", Type: "f64", Name: "openblas", Reason: "built without tag openblas"},
		{Op: "potrf", Type: "f64", Name: "openblas", Reason: strings.Repeat("a long reason ", 10)}}
	target := &versions.Target{Arch: "amd64", Processor: "Test", Features: []string{"avx2", "fma3"}, Units: 1}
	rows := inventory(ops, absent, target, devices{})
	table := listTable(rows, paint{})
	narrow(t, "list", table)
	golden(t, "list", table)
	short := listShort(rows)
	narrow(t, "list", short)
	golden(t, "list-short", short)
	for _, test := range []struct {
		words string
		want  int
	}{{"", len(rows)}, {"gemm", 10}, {"avx2", 4}, {"gemm avx2", 12}} {
		if got, err := filter(rows, strings.Fields(test.words)); err != nil || len(got) != test.want {
			t.Errorf("%q: %d rows, %v; want %d", test.words, len(got), err, test.want)
		}
	}

	code, out, errs := labench(t, "list", "--json")
	if code != exitPassed || errs != "" {
		t.Errorf("exit code %d: %s", code, errs)
	}
	seen := map[string]bool{}
	var doc inventoryDocument
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatal(err)
	}
	for _, r := range doc.Versions {
		if r.Eligible != (r.Reason == "") || r.Eligible && !r.Present {
			t.Errorf("%+v", r)
		}
		if (r.Version == "go" || r.Version == "copy") && r.Eligible {
			seen[r.Op+"/"+r.Type] = true
		}
	}
	for _, o := range op.NewTable().All() {
		if !seen[o.OpName()] {
			t.Errorf("no portable version of %s", o.OpName())
		}
	}
	_, out, _ = labench(t, "list")
	narrow(t, "list", out)
	if n := strings.Count(out, "\n"); n > 50 || !strings.Contains(out, "\ngemm ") {
		t.Errorf("%d lines:\n%s", n, out)
	}
	_, all, _ := labench(t, "list", "--all")
	_, some, _ := labench(t, "list", "gemm")
	if narrow(t, "list", all+some); strings.Count(all, "\n") <= strings.Count(out, "\n") || !strings.Contains(some, "eligible") || strings.Contains(some, "potrf") {
		t.Errorf("%s\n%s", all, some)
	}
}

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
	s := bench.Spec{Op: "cholesky", N: 4096, Seed: 1, Verify: true}.WithDefaults()
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
	a := &app{out: &b}
	for _, x := range []struct {
		s bench.Spec
		r bench.Result
	}{{s, r}, {s, wrong}, {s, direct}, {notVerified, unchecked}, {random, rectangle}, {s, busy}, {s, near}, {s, mixed}} {
		if err := a.report(x.s, x.r); err != nil {
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
			narrow(t, "report", line)
		}
	}
	golden(t, "report", text.String())
}

// machine returns a machine with two sockets of four cores.
func machine(features ...string) *topo.Machine {
	m := &topo.Machine{Identity: topo.Identity{OS: "linux", Arch: "amd64", Brand: "Test CPU 9000", Features: features},
		Online: topo.CPUSet{0, 1, 2, 3, 4, 5, 6, 7}, Allowed: topo.CPUSet{0, 1, 2, 3, 4, 5, 6, 7}, Memory: 64 << 30}
	for i := range 8 {
		m.Cores = append(m.Cores, topo.Core{Package: i / 4, CPUs: topo.CPUSet{i}})
	}
	m.Nodes = []topo.Node{{ID: 0, CPUs: topo.CPUSet{0, 1, 2, 3}, Memory: 32 << 30}, {ID: 1, CPUs: topo.CPUSet{4, 5, 6, 7}, Memory: 32 << 30}}
	one := topo.CPUSet{0}
	m.Caches = []topo.Cache{{Level: 1, Type: "Data", Size: 48 << 10, Shared: []topo.CPUSet{one, one, one, one, one, one, one, one}},
		{Level: 1, Type: "Instruction", Size: 32 << 10}, {Level: 3, Type: "Unified", Size: 32 << 20, Shared: []topo.CPUSet{one, one}}}
	return m
}

// healthy returns the findings of a machine with nothing to complain of.
func healthy() *findings {
	x := &findings{machine: machine("sse2", "avx", "fma3", "avx2", "avx512f"), governor: "performance", driver: "acpi-cpufreq",
		profile: "/home/user/.cache/tessera/profile.json", goVersion: "go1.26", gomaxprocs: 8, cgo: "1", tags: []string{"openblas"},
		lookupEnv: func(string) (string, bool) { return "", false },
		library:   cpu.BLASInfo{Name: "openblas", Core: "SkylakeX", Config: "OpenBLAS 0.3.21 DYNAMIC_ARCH", Threads: 1},
		without:   func(name string) string { return "built without tag " + name },
		kernels:   []string{"gemm openblas", "syrk openblas", "trsm openblas", "potrf openblas"}, tiles: placement(2, ""),
		fma: bench.PeakRate{Rate: peak.Rate{One: 100, All: 780, Cores: 8, ISA: peak.AVX512}}, triad: bench.PeakRate{Rate: peak.Rate{One: 20, All: 80, Cores: 8}},
		now: &quiet.Now{Average: [3]float64{0.1, 0.2, 0.3}, Pressure: 0.01}, load: &quiet.Load{Seconds: 1, CPUs: 8}, busy: &quiet.Load{Seconds: 2, CPUs: 8}}
	for i := range 8 {
		x.workers = append(x.workers, exec.Worker{ID: i, CPUs: []int{i}})
	}
	return x
}

// TestDoctor breaks one thing at a time.
func TestDoctor(t *testing.T) {
	env := func(set map[string]string) func(string) (string, bool) {
		return func(name string) (string, bool) { v, ok := set[name]; return v, ok }
	}
	var all strings.Builder
	for _, test := range []struct {
		name   string
		spoil  func(*findings)
		remedy string // a part of it; empty: nothing is wrong
	}{
		{"healthy", func(*findings) {}, ""},
		{"portable", func(x *findings) { x.kernels[0] = "gemm go" }, "-tags openblas"},
		{"portable on a plain machine", func(x *findings) {
			x.kernels[0], x.machine, x.library, x.tags = "gemm go", machine("sse2"), cpu.BLASInfo{}, nil
		}, ""},
		{"tag without library", func(x *findings) { x.tags, x.library = []string{"mkl"}, cpu.BLASInfo{} }, "CGO_ENABLED=1"},
		{"core type", func(x *findings) {
			x.library.Core, x.lookupEnv = "Haswell", env(map[string]string{"OPENBLAS_CORETYPE": "Haswell"})
		}, "unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE"},
		{"cache size", func(x *findings) { x.lookupEnv = env(map[string]string{"OPENBLAS_L2_SIZE": "512"}) }, "unset OPENBLAS_CORETYPE"},
		{"environment without OpenBLAS", func(x *findings) {
			x.library.Name, x.tags, x.lookupEnv = "mkl", []string{"mkl"}, env(map[string]string{"OPENBLAS_CORETYPE": "Haswell"})
		}, ""},
		{"unknown processor", func(x *findings) { x.library.Core = "Prescott" }, "newer OpenBLAS"},
		{"core of tomorrow", func(x *findings) { x.library.Core = "GraniteRapids" }, ""},
		{"GOMAXPROCS", func(x *findings) { x.gomaxprocs = 2 }, "unset GOMAXPROCS"},
		{"quota", func(x *findings) { x.machine.CPUQuota = 4 }, "raise the quota"},
		{"part of a CPU", func(x *findings) { x.machine.CPUQuota = 3.5 }, "--workers 3"},
		{"shared", func(x *findings) { x.fma.All = 400 }, "stop what else runs"},
		{"one core", func(x *findings) { x.fma.Rate = peak.Rate{One: 100, All: 100, Cores: 1} }, ""},
		{"floating", func(x *findings) { x.workers[0] = exec.Worker{Note: "operation not permitted"} }, "sched_setaffinity"},
		{"powersave", func(x *findings) { x.governor = "powersave" }, "cpupower"},
		{"others", func(x *findings) { x.load.Others = 1.5 }, "stop them"},
		{"a little", func(x *findings) { x.load.Others, x.busy.Steal = 0.05, 0.1 }, ""},
		{"steal", func(x *findings) { x.busy.Steal = 0.8 }, "not shared"},
		{"nothing known of the load", func(x *findings) { x.load, x.busy, x.now = nil, nil, nil }, ""},
		{"other system", func(x *findings) { x.machine.OS, x.workers[0] = "js", exec.Worker{Note: "not supported"} }, "none here"},
		{"environment's workers", func(x *findings) { x.lookupEnv = env(map[string]string{"TESSERA_WORKERS": "8"}) }, ""},
		{"powersave in name", func(x *findings) { x.governor, x.driver = "powersave", "intel_pstate" }, ""},
	} {
		x := healthy()
		test.spoil(x)
		found := x.diagnose()
		switch {
		case test.remedy == "" && len(found) > 0:
			t.Errorf("%s: %+v", test.name, found)
		case test.remedy != "" && (len(found) != 1 || !strings.Contains(found[0].Remedy, test.remedy)):
			t.Errorf("%s: %+v, want remedy %q", test.name, found, test.remedy)
		}
		chart := x.chart(paint{})
		narrow(t, test.name, chart)
		if said := strings.Contains(chart, "TESSERA_WORKERS=8"); said != (test.name == "environment's workers") {
			t.Errorf("%s: the chart tells of TESSERA_WORKERS: %t", test.name, said)
		}
		all.WriteString("== " + test.name + "\n")
		if test.name != "healthy" {
			_, chart, _ = strings.Cut(chart, "\n\n") // the diagnosis
		}
		all.WriteString(chart)
	}
	golden(t, "doctor", all.String())

	code, out, errs := labench(t, "doctor")
	if code != exitPassed || errs != "" {
		t.Errorf("exit code %d: %s", code, errs)
	}
	narrow(t, "doctor", out)
}

func TestGovernor(t *testing.T) {
	root := fstest.MapFS{
		"sys/devices/system/cpu/cpu3/cpufreq/scaling_governor": {Data: []byte("schedutil\n")},
		"sys/devices/system/cpu/cpu3/cpufreq/scaling_driver":   {Data: []byte("acpi-cpufreq\n")},
	}
	if g, d := governor(root, 3); g != "schedutil" || d != "acpi-cpufreq" {
		t.Error(g, d)
	}
	if g, d := governor(root, 0); g != "" || d != "" {
		t.Error(g, d)
	}
	for want, got := range map[string]string{"not ours to see": clock("", ""), "governor a": clock("a", ""), "governor a, driver b": clock("a", "b")} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestWrapped(t *testing.T) {
	words := strings.Repeat("word ", 30)
	got := wrapped("label: ", words+"\n  indented "+words+"\nend")
	narrow(t, "wrapped", got)
	golden(t, "wrapped", got)
	if got := wrapped("", ""); got != "" {
		t.Errorf("%q", got)
	}
	if got := clip("überlang", 5); got != "über…" {
		t.Error(got)
	}
	p := paint{on: true}
	if got := p.good("x"); got != "\x1b[1;32mx\x1b[0m" {
		t.Errorf("%q", got)
	}
}

func TestParseVersions(t *testing.T) {
	only, fixed, err := parseVersions("openblas, go,gemm=go,potrf/f64=openblas")
	if err != nil || strings.Join(only, " ") != "openblas go" || len(fixed) != 2 || fixed[1] != (versions.Pin{Op: "potrf/f64", Version: "openblas"}) {
		t.Errorf("%v %v %v", only, fixed, err)
	}
	if only, fixed, err = parseVersions(""); err != nil || only != nil || fixed != nil {
		t.Errorf("%v %v %v", only, fixed, err)
	}
}

// TestProgress shows a bar to a writer that is no terminal, and leaves no
// goroutine behind.
func TestProgress(t *testing.T) {
	var b bytes.Buffer
	p := newProgress(nil, "test")
	p.line.w = &b
	p.update(1, 10)
	if b.Len() > 0 {
		t.Error("a bar within the first second")
	}
	p.begin, p.next = p.begin.Add(-2*time.Second), time.Time{}
	p.update(5, 10)
	want := "test ▕" + strings.Repeat("█", 20) + strings.Repeat(" ", 20) + "▏ 50 % 2s"
	if b.String() != want {
		t.Errorf("the bar is %q, want %q", &b, want)
	}
	p.update(10, 10)
	if b.String() != want {
		t.Error("the bar is drawn again at once")
	}
	p.end()
	if got := strings.TrimPrefix(b.String(), want); got != "\r\x1b[K" {
		t.Errorf("the bar ends with %q", got)
	}
	var none *progress
	none.update(1, 2)
	none.end()
}

// TestProgressNodes: the line says how many nodes there are, who was lost and who joined, in one
// line of a terminal.
func TestProgressNodes(t *testing.T) {
	there := []string{"agent0", "agent1", "a-node-with-a-long-name"}
	p := newProgress(nil, "cholesky")
	p.nodes = &census{there: func() []string { return there }}
	for _, step := range []struct {
		there []string
		want  string
	}{
		{there, "50 % 3s, 3 nodes"},
		{there[:2], "50 % 3s, 2 nodes, a-node-with-a… lost at 3s"},
		{there[:2], "50 % 3s, 2 nodes, a-node-with-a… lost at 3s"},
		{[]string{"agent0", "agent1", "agent2"}, "3 nodes, agent2 joined at 3s"},
		{[]string{"agent1", "agent2"}, "2 nodes, agent0 lost at 3s"},
		{nil, "0 nodes, agent2 lost at 3s"},
	} {
		there = step.there
		if got := p.text(5, 10, 3*time.Second); !strings.HasSuffix(got, step.want) || !strings.HasPrefix(got, "cholesky ▕████████ ") || utf8.RuneCountInString(got) > 79 {
			t.Errorf("%q, want …%q", got, step.want)
		}
	}
}
