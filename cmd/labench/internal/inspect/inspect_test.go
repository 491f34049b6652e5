package inspect_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/cmd/labench/internal/inspect"
	"github.com/tessera-la/tessera/cmd/labench/internal/labtest"
	"github.com/tessera-la/tessera/cmd/labench/internal/setup"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/internal/peak"
	"github.com/tessera-la/tessera/internal/quiet"
	"github.com/tessera-la/tessera/internal/report"
	"github.com/tessera-la/tessera/internal/topo"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
)

func TestDoctorDocument(t *testing.T) {
	x := healthy()
	if doc := x.Document(); doc.Diagnoses == nil || len(doc.Diagnoses) != 0 || doc.Peak.ISA != "avx512" || doc.Bandwidth.All != 80 ||
		len(doc.Workers) != 8 || doc.Library.Core != "SkylakeX" || doc.Machine.Numa[1] != "4-7" {
		t.Errorf("healthy: %+v", doc)
	}
	x.Gomaxprocs, x.Tags, x.Library.Name, x.Fma.One = 2, nil, "", 0
	if doc := x.Document(); len(doc.Diagnoses) != 1 || doc.Diagnoses[0].Remedy != "unset GOMAXPROCS" || doc.Library != nil || doc.Peak != nil {
		t.Errorf("ill: %+v", doc)
	}
}

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
	rows := inspect.Inventory(ops, absent, target, setup.Devices{})
	table := inspect.ListTable(rows, report.Paint{})
	labtest.Narrow(t, "list", table)
	labtest.Golden(t, "list", table)
	short := inspect.ListShort(rows)
	labtest.Narrow(t, "list", short)
	labtest.Golden(t, "list-short", short)
	for _, test := range []struct {
		Words string
		want  int
	}{{"", len(rows)}, {"gemm", 10}, {"avx2", 4}, {"gemm avx2", 12}} {
		if got, err := inspect.Filter(rows, strings.Fields(test.Words)); err != nil || len(got) != test.want {
			t.Errorf("%q: %d rows, %v; want %d", test.Words, len(got), err, test.want)
		}
	}
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
func healthy() *inspect.Findings {
	x := &inspect.Findings{Machine: machine("sse2", "avx", "fma3", "avx2", "avx512f"), Governor: "performance", Driver: "acpi-cpufreq",
		Profile: "/home/user/.cache/tessera/profile.json", GoVersion: "go1.26", Gomaxprocs: 8, Cgo: "1", Tags: []string{"openblas"},
		LookupEnv: func(string) (string, bool) { return "", false },
		Library:   cpu.BLASInfo{Name: "openblas", Core: "SkylakeX", Config: "OpenBLAS 0.3.21 DYNAMIC_ARCH", Threads: 1},
		Without:   func(name string) string { return "built without tag " + name },
		Kernels:   []string{"gemm openblas", "syrk openblas", "trsm openblas", "potrf openblas"}, Tiles: inspect.Placement(2, ""),
		Fma: bench.PeakRate{Rate: peak.Rate{One: 100, All: 780, Cores: 8, ISA: "avx512"}}, Triad: bench.PeakRate{Rate: peak.Rate{One: 20, All: 80, Cores: 8}},
		Now: &quiet.Now{Average: [3]float64{0.1, 0.2, 0.3}, Pressure: 0.01}, Load: &quiet.Load{Seconds: 1, CPUs: 8}, Busy: &quiet.Load{Seconds: 2, CPUs: 8}}
	for i := range 8 {
		x.Workers = append(x.Workers, exec.Worker{ID: i, CPUs: []int{i}})
	}
	return x
}

// TestDoctorARM: on arm64 the report asks for a measurement.
func TestDoctorARM(t *testing.T) {
	x := healthy()
	if text := x.Chart(report.Paint{}); strings.Contains(text, "nobody has timed") {
		t.Errorf("on amd64:\n%s", text)
	}
	x.Machine.Arch, x.Machine.Features = "arm64", nil
	if text := x.Chart(report.Paint{}); !strings.Contains(text, "nobody has timed") {
		t.Errorf("no request to time them:\n%s", text)
	}
	x.Kernels[0], x.Tags = "gemm go", []string{"noasm"}
	if found := x.Diagnose(); len(found) != 1 || found[0].Remedy != "build without the tag noasm" {
		t.Errorf("portable kernels: %+v", found)
	}
}

// TestDoctor breaks one thing at a time.
func TestDoctor(t *testing.T) {
	env := func(set map[string]string) func(string) (string, bool) {
		return func(name string) (string, bool) { v, ok := set[name]; return v, ok }
	}
	var all strings.Builder
	for _, test := range []struct {
		name   string
		spoil  func(*inspect.Findings)
		remedy string // a part of it; empty: nothing is wrong
	}{
		{"healthy", func(*inspect.Findings) {}, ""},
		{"portable", func(x *inspect.Findings) { x.Kernels[0] = "gemm go" }, "-tags openblas"},
		{"portable on a plain machine", func(x *inspect.Findings) {
			x.Kernels[0], x.Machine, x.Library, x.Tags = "gemm go", machine("sse2"), cpu.BLASInfo{}, nil
		}, ""},
		{"tag without library", func(x *inspect.Findings) { x.Tags, x.Library = []string{"mkl"}, cpu.BLASInfo{} }, "CGO_ENABLED=1"},
		{"core type", func(x *inspect.Findings) {
			x.Library.Core, x.LookupEnv = "Haswell", env(map[string]string{"OPENBLAS_CORETYPE": "Haswell"})
		}, "unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE"},
		{"cache size", func(x *inspect.Findings) { x.LookupEnv = env(map[string]string{"OPENBLAS_L2_SIZE": "512"}) }, "unset OPENBLAS_CORETYPE"},
		{"environment without OpenBLAS", func(x *inspect.Findings) {
			x.Library.Name, x.Tags, x.LookupEnv = "mkl", []string{"mkl"}, env(map[string]string{"OPENBLAS_CORETYPE": "Haswell"})
		}, ""},
		{"unknown processor", func(x *inspect.Findings) { x.Library.Core = "Prescott" }, "newer OpenBLAS"},
		{"core of tomorrow", func(x *inspect.Findings) { x.Library.Core = "GraniteRapids" }, ""},
		{"GOMAXPROCS", func(x *inspect.Findings) { x.Gomaxprocs = 2 }, "unset GOMAXPROCS"},
		{"quota", func(x *inspect.Findings) { x.Machine.CPUQuota = 4 }, "raise the quota"},
		{"part of a CPU", func(x *inspect.Findings) { x.Machine.CPUQuota = 3.5 }, "--workers 3"},
		{"shared", func(x *inspect.Findings) { x.Fma.All = 400 }, "stop what else runs"},
		{"one core", func(x *inspect.Findings) { x.Fma.Rate = peak.Rate{One: 100, All: 100, Cores: 1} }, ""},
		{"floating", func(x *inspect.Findings) { x.Workers[0] = exec.Worker{Note: "operation not permitted"} }, "sched_setaffinity"},
		{"powersave", func(x *inspect.Findings) { x.Governor = "powersave" }, "cpupower"},
		{"others", func(x *inspect.Findings) { x.Load.Others = 1.5 }, "stop them"},
		{"a little", func(x *inspect.Findings) { x.Load.Others, x.Busy.Steal = 0.05, 0.1 }, ""},
		{"steal", func(x *inspect.Findings) { x.Busy.Steal = 0.8 }, "not shared"},
		{"nothing known of the load", func(x *inspect.Findings) { x.Load, x.Busy, x.Now = nil, nil, nil }, ""},
		{"other system", func(x *inspect.Findings) { x.Machine.OS, x.Workers[0] = "js", exec.Worker{Note: "not supported"} }, "none here"},
		{"environment's workers", func(x *inspect.Findings) { x.LookupEnv = env(map[string]string{"TESSERA_WORKERS": "8"}) }, ""},
		{"powersave in name", func(x *inspect.Findings) { x.Governor, x.Driver = "powersave", "intel_pstate" }, ""},
	} {
		x := healthy()
		test.spoil(x)
		found := x.Diagnose()
		switch {
		case test.remedy == "" && len(found) > 0:
			t.Errorf("%s: %+v", test.name, found)
		case test.remedy != "" && (len(found) != 1 || !strings.Contains(found[0].Remedy, test.remedy)):
			t.Errorf("%s: %+v, want remedy %q", test.name, found, test.remedy)
		}
		chart := x.Chart(report.Paint{})
		labtest.Narrow(t, test.name, chart)
		if said := strings.Contains(chart, "TESSERA_WORKERS=8"); said != (test.name == "environment's workers") {
			t.Errorf("%s: the chart tells of TESSERA_WORKERS: %t", test.name, said)
		}
		all.WriteString("== " + test.name + "\n")
		if test.name != "healthy" {
			_, chart, _ = strings.Cut(chart, "\n\n") // the diagnosis
		}
		all.WriteString(chart)
	}
	labtest.Golden(t, "doctor", all.String())
}

func TestGovernor(t *testing.T) {
	root := fstest.MapFS{
		"sys/devices/system/cpu/cpu3/cpufreq/scaling_governor": {Data: []byte("schedutil\n")},
		"sys/devices/system/cpu/cpu3/cpufreq/scaling_driver":   {Data: []byte("acpi-cpufreq\n")},
	}
	if g, d := inspect.Governor(root, 3); g != "schedutil" || d != "acpi-cpufreq" {
		t.Error(g, d)
	}
	if g, d := inspect.Governor(root, 0); g != "" || d != "" {
		t.Error(g, d)
	}
	for want, got := range map[string]string{"not ours to see": inspect.Clock("", ""), "governor a": inspect.Clock("a", ""), "governor a, driver b": inspect.Clock("a", "b")} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
