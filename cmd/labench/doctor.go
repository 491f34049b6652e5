package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/cmd/labench/internal/gpucheck"
	"github.com/tessera-la/tessera/cmd/labench/internal/quiet"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/internal/peak"
	"github.com/tessera-la/tessera/internal/topo"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/kernels/op"
)

// newDoctorCommand returns the command labench doctor.
func newDoctorCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Examine this machine, and say what slows it down",
		Long: `Show what the library makes of this machine — processor, caches, memory, limits,
the build and its BLAS library — and say what keeps it from full speed, with the
remedy. A warning is no failure: the exit code is 0, also with --json, where the
list "diagnoses" is empty if nothing was found.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			x, err := a.examine(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return a.document(x.document())
			}
			_, err = a.out.Write([]byte(x.chart(newPaint(a.out))))
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document instead of a report")
	return cmd
}

// findings is what labench doctor has found out.
type findings struct {
	machine  *topo.Machine
	governor string // of the frequency of the first CPU, empty if unknown
	driver   string // that the governor works with
	workers  []exec.Worker
	devices  devices
	tiles    string // on which NUMA nodes the memory of tiles is

	goVersion  string
	gomaxprocs int
	tags       []string
	cgo        string
	lookupEnv  func(string) (string, bool)

	library cpu.BLASInfo             // empty Name if there is none
	without func(name string) string // why a library is not there
	kernels []string                 // "gemm avx512": each op on f64 and the version that is preferred

	profile string // file of the versions' profile, empty if there is no place for it

	fma, triad bench.PeakRate // zero if not measured

	now  *quiet.Now  // the load at the beginning, nil if unknown
	load *quiet.Load // what else ran while this program did next to nothing; nil if unknown
	busy *quiet.Load // the same while it measured, when a hypervisor has something to take
}

// examine looks at the machine and measures its peaks.
func (a *app) examine(ctx context.Context) (*findings, error) {
	x := &findings{machine: topo.Detect(), goVersion: runtime.Version(), gomaxprocs: runtime.GOMAXPROCS(0), lookupEnv: os.LookupEnv,
		without: cpu.WhyNoBLAS}
	if now, ok := quiet.ReadNow(os.DirFS("/")); ok {
		x.now = &now
	}
	watch := quiet.Start()
	x.tags, x.cgo = buildTags()
	x.library, _ = cpu.BLASLibrary()
	x.governor, x.driver = governor(os.DirFS("/"), x.machine.Allowed[0])
	x.profile, _ = profilePath()
	rt, err := exec.NewLocal(exec.Options{})
	if err != nil {
		return nil, err
	}
	x.workers = rt.Workers()
	rt.Close()
	x.devices = findDevices()
	x.tiles = placement(blocked.FirstTouch())
	for _, op := range op.NewTable().All() {
		if op.Type != "f64" {
			continue
		}
		if v := gpucheck.OnCores(op, exec.Here()); v != nil {
			x.kernels = append(x.kernels, op.Name+" "+v.Name)
		}
	}
	if a.noPeak {
		return x, nil
	}
	select { // a second in all
	case <-time.After(time.Second - watch.Lasts()):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if l, ok := watch.Stop(); ok {
		x.load = &l
	}
	watch = quiet.Start()
	if x.fma, err = bench.SteadyPeak(ctx, peak.FMA[float64], peak.Options{Machine: x.machine}); err != nil {
		return nil, err
	}
	x.triad, err = bench.SteadyPeak(ctx, peak.Triad, peak.Options{Machine: x.machine})
	if l, ok := watch.Stop(); ok {
		x.busy = &l
	}
	return x, err
}

// governor returns what decides on the clock frequency of a CPU, and the
// driver that carries it out, empty if root does not tell.
func governor(root fs.FS, cpu int) (name, driver string) {
	read := func(file string) string {
		b, err := fs.ReadFile(root, fmt.Sprintf("sys/devices/system/cpu/cpu%d/cpufreq/%s", cpu, file))
		if err != nil {
			return "" // most virtual machines
		}
		return strings.TrimSpace(string(b))
	}
	return read("scaling_governor"), read("scaling_driver")
}

// chart returns the report.
func (x *findings) chart(p paint) string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		b.WriteString(wrapped(label(name), fmt.Sprintf(format, args...)))
	}
	m := x.machine
	line("processor", "%s", m.String())
	if m.Hypervisor != "" {
		line("", "in a virtual machine of %s", m.Hypervisor)
	}
	line("isa", "%s", instructionSets(m))
	line("cpus", "%v of %v may be used, on %s", m.Allowed, m.Online, count(m.Packages(), "socket"))
	line("caches", "%s", caches(m))
	for _, n := range m.Nodes {
		memory := ""
		if n.Memory > 0 {
			memory = ", " + bench.Bytes(float64(n.Memory))
		}
		line("numa", "node %d: CPUs %v%s", n.ID, n.CPUs, memory)
	}
	if x.tiles != "" {
		line("", "%s", x.tiles)
	}
	line("limits", "%s", limits(m))
	line("clock", "%s", clock(x.governor, x.driver))
	if x.now != nil || x.load != nil {
		line("load", "%s", loadLine(x.now, x.load))
	}
	line("workers", "%s", pinning(x.workers))
	if x.lookupEnv != nil {
		if n, set := x.lookupEnv(exec.WorkersVariable); set && n != "" {
			line("", "so many because the environment has %s=%s", exec.WorkersVariable, n)
		}
	}
	if x.devices.why != "" {
		line("devices", "none: %s", x.devices.why)
	}
	for i, d := range x.devices.rows {
		line(map[bool]string{true: "devices"}[i == 0], "%s", d.Long())
	}
	if x.fma.One > 0 {
		line("peak", "FMA f64 (%v): %.1f GFLOP/s on one core, %.1f on %d", x.fma.ISA, x.fma.One, x.fma.All, x.fma.Cores)
		line("", "memory (triad): %.1f GB/s on one core, %.1f on %d", x.triad.One, x.triad.All, x.triad.Cores)
		if x.fma.Disturbed || x.triad.Disturbed {
			line("", "disturbed three times over by what else runs: these may be too low")
		}
	}
	build := "no build tags"
	if len(x.tags) > 0 {
		build = "tags " + strings.Join(x.tags, ", ")
	}
	line("go", "%s, GOMAXPROCS %d, %s, CGO_ENABLED=%s", x.goVersion, x.gomaxprocs, build, x.cgo)
	if x.library.Name == "" {
		line("blas", "no C library in this build")
	} else {
		core := ""
		if x.library.Core != "" {
			core = ", kernels for " + x.library.Core
		}
		line("blas", "%s%s, called by each worker with one thread", x.library.Name, core)
		if x.library.Config != "" {
			line("", "%s", x.library.Config)
		}
	}
	line("kernels", "%s", byVersion(x.kernels))
	if x.profile != "" {
		line("profile", "%s", x.profile)
	}
	for _, note := range m.Notes {
		line("note", "%s", note)
	}
	b.WriteByte('\n')
	all := x.diagnose()
	if len(all) == 0 {
		b.WriteString(p.good("nothing found that slows this machine down") + "\n")
	}
	for _, d := range all {
		// Colour is put on afterwards: it has no width.
		text := wrapped(label("warning"), d.Finding)
		b.WriteString(strings.Replace(text, "warning", p.alert("warning"), 1))
		b.WriteString(wrapped(label("  remedy"), d.Remedy))
	}
	return b.String()
}

// byVersion returns ops and their versions, "gemm avx512", as "avx512 for gemm".
func byVersion(kernels []string) string {
	var versions []string
	ops := map[string][]string{}
	for _, k := range kernels {
		op, v, _ := strings.Cut(k, " ")
		if ops[v] == nil {
			versions = append(versions, v)
		}
		ops[v] = append(ops[v], op)
	}
	for i, v := range versions {
		versions[i] = v + " for " + strings.Join(ops[v], ", ")
	}
	return strings.Join(versions, "; ")
}

// instructionSets returns the extensions that matter to linear algebra.
func instructionSets(m *topo.Machine) string {
	var have []string
	for _, f := range []string{"sse2", "sse4", "sse42", "avx", "f16c", "fma3", "avx2", "avx512f", "avx512dq", "avx512bw", "avx512vl",
		"avx512vnni", "avx512bf16", "avx512fp16", "amxtile", "amxbf16", "asimd", "asimdhp", "sve", "sve2"} {
		if slices.Contains(m.Features, f) {
			have = append(have, f)
		}
	}
	if have == nil {
		return m.Arch + ", no vector extensions known"
	}
	return m.Arch + " " + strings.Join(have, " ")
}

// caches returns the data caches.
func caches(m *topo.Machine) string {
	var all []string
	for _, c := range m.Caches {
		if c.Type == "Instruction" {
			continue
		}
		s := fmt.Sprintf("L%d %s", c.Level, bench.Bytes(float64(c.Size)))
		if n := len(c.Shared); n > 1 {
			s = fmt.Sprintf("L%d %d× %s", c.Level, n, bench.Bytes(float64(c.Size)))
		}
		all = append(all, s)
	}
	if all == nil {
		return "unknown"
	}
	return strings.Join(all, ", ")
}

// limits returns what the operating system lets this process have.
func limits(m *topo.Machine) string {
	quota, memory := "no CPU quota", "no memory limit"
	if m.CPUQuota > 0 {
		quota = fmt.Sprintf("CPU quota %.4g CPUs", m.CPUQuota)
	}
	if m.MemoryLimit > 0 {
		memory = "memory limit " + bench.Bytes(float64(m.MemoryLimit))
	}
	if m.Memory > 0 {
		memory += " (the machine has " + bench.Bytes(float64(m.Memory)) + ")"
	}
	return quota + ", " + memory
}

// clock returns what decides on the clock frequency.
func clock(governor, driver string) string {
	if governor == "" {
		return "not ours to see"
	}
	if driver != "" {
		return fmt.Sprintf("governor %s, driver %s", governor, driver)
	}
	return "governor " + governor
}

// loadLine says what else runs.
func loadLine(now *quiet.Now, load *quiet.Load) string {
	var words []string
	if load != nil {
		words = append(words, load.String()+fmt.Sprintf(" for %.1f s", load.Seconds))
	}
	if now != nil {
		words = append(words, fmt.Sprintf("load average %.2f, %.2f, %.2f", now.Average[0], now.Average[1], now.Average[2]))
		if now.Pressure >= 0 {
			words = append(words, fmt.Sprintf("threads waited for a CPU in %.0f %% of the last 10 s", 100*now.Pressure))
		}
	}
	return strings.Join(words, "; ")
}

// placement says where tiles are, of what [blocked.FirstTouch] returns.
func placement(nodes int, why string) string {
	if nodes < 2 {
		return "tiles are touched first by whoever fills them: " + why
	}
	return fmt.Sprintf("tiles of 64 KiB and more are dealt out to %d nodes and touched first there", nodes)
}

// pinning returns where workers run.
func pinning(workers []exec.Worker) string {
	var cpus []string
	for _, w := range workers {
		if w.CPUs == nil {
			s := count(len(workers), "worker") + ", not pinned"
			if w.Note != "" {
				s += ": " + w.Note
			}
			return s
		}
		cpus = append(cpus, topo.CPUSet(w.CPUs).String())
	}
	const most = 16
	if len(cpus) > most {
		cpus = append(cpus[:most], "…")
	}
	return fmt.Sprintf("%s, pinned to CPUs %s", count(len(workers), "worker"), strings.Join(cpus, " "))
}
