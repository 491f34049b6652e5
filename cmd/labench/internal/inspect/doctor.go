package inspect

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
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/cmd/labench/internal/gpucheck"
	"github.com/tessera-la/tessera/cmd/labench/internal/setup"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/peak"
	"github.com/tessera-la/tessera/internal/quiet"
	"github.com/tessera-la/tessera/internal/report"
	"github.com/tessera-la/tessera/internal/topo"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/kernels/op"
)

// NewDoctorCommand returns the command labench doctor.
func NewDoctorCommand(a *cli.App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Examine this machine, and say what slows it down",
		Long: `Show what the library makes of this machine — processor, caches, memory, limits,
the build and its BLAS library — and say what keeps it from full speed, with the
remedy. A warning is no failure: the exit code is 0, also with --json, where the
list "diagnoses" is empty if nothing was found.`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			x, err := examine(cmd.Context(), a)
			if err != nil {
				return err
			}
			if asJSON {
				return a.Document(x.Document())
			}
			_, err = a.Out.Write([]byte(x.Chart(report.NewPaint(a.Out))))
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document instead of a report")
	return cmd
}

// examine examines the machine and measures its peaks.
func examine(ctx context.Context, a *cli.App) (*Findings, error) {
	x := &Findings{Machine: topo.Detect(), GoVersion: runtime.Version(), Gomaxprocs: runtime.GOMAXPROCS(0), LookupEnv: os.LookupEnv,
		Without: cpu.WhyNoBLAS}
	if now, ok := quiet.ReadNow(os.DirFS("/")); ok {
		x.Now = &now
	}
	watch := quiet.Start()
	x.Tags, x.Cgo = setup.BuildTags()
	x.Library, _ = cpu.BLASLibrary()
	x.Governor, x.Driver = Governor(os.DirFS("/"), x.Machine.Allowed[0])
	x.Profile, _ = setup.ProfilePath()
	rt, err := exec.NewLocal(exec.Options{})
	if err != nil {
		return nil, err
	}
	x.Workers = rt.Workers()
	rt.Close()
	x.Devices = setup.FindDevices()
	x.Tiles = Placement(tiles.FirstTouch())
	for _, op := range op.NewTable().All() {
		if op.Type != "f64" {
			continue
		}
		if v := gpucheck.OnCores(op, exec.Here()); v != nil {
			x.Kernels = append(x.Kernels, op.Name+" "+v.Name)
		}
	}
	if a.NoPeak {
		return x, nil
	}
	select { // about a second in total
	case <-time.After(time.Second - watch.Lasts()):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if l, ok := watch.Stop(); ok {
		x.Load = &l
	}
	watch = quiet.Start()
	if x.Fma, err = bench.SteadyPeak(ctx, peak.FMA[float64], peak.Options{Machine: x.Machine}); err != nil {
		return nil, err
	}
	x.Triad, err = bench.SteadyPeak(ctx, peak.Triad, peak.Options{Machine: x.Machine})
	if l, ok := watch.Stop(); ok {
		x.Busy = &l
	}
	return x, err
}

// Governor returns the cpufreq governor of a CPU and its driver. They are empty if root has no such files.
func Governor(root fs.FS, cpu int) (name, driver string) {
	read := func(file string) string {
		b, err := fs.ReadFile(root, fmt.Sprintf("sys/devices/system/cpu/cpu%d/cpufreq/%s", cpu, file))
		if err != nil {
			return "" // most virtual machines have none
		}
		return strings.TrimSpace(string(b))
	}
	return read("scaling_governor"), read("scaling_driver")
}

// Chart returns the report for people.
func (x *Findings) Chart(p report.Paint) string {
	var b report.Labelled
	x.machineLines(&b)
	x.programLines(&b)
	for _, note := range x.Machine.Notes {
		b.Line("note", "%s", note)
	}
	b.WriteByte('\n')
	all := x.Diagnose()
	if len(all) == 0 {
		b.WriteString(p.Good("nothing found that slows this machine down") + "\n")
	}
	for _, d := range all {
		// Colour is added afterwards: it takes no columns.
		text := report.Wrapped(report.Label("warning"), d.Finding)
		b.WriteString(strings.Replace(text, "warning", p.Alert("warning"), 1))
		b.WriteString(report.Wrapped(report.Label("  remedy"), d.Remedy))
	}
	return b.String()
}

// machineLines says what the machine has, and how fast it is.
func (x *Findings) machineLines(b *report.Labelled) {
	m := x.Machine
	b.Line("processor", "%s", m.String())
	if m.Hypervisor != "" {
		b.Line("", "in a virtual machine of %s", m.Hypervisor)
	}
	b.Line("isa", "%s", instructionSets(m))
	b.Line("cpus", "%v of %v may be used, on %s", m.Allowed, m.Online, report.Count(m.Packages(), "socket"))
	b.Line("caches", "%s", caches(m))
	for _, n := range m.Nodes {
		memory := ""
		if n.Memory > 0 {
			memory = ", " + report.Bytes(float64(n.Memory))
		}
		b.Line("numa", "node %d: CPUs %v%s", n.ID, n.CPUs, memory)
	}
	if x.Tiles != "" {
		b.Line("", "%s", x.Tiles)
	}
	b.Line("limits", "%s", limits(m))
	b.Line("clock", "%s", Clock(x.Governor, x.Driver))
	if x.Now != nil || x.Load != nil {
		b.Line("load", "%s", loadLine(x.Now, x.Load))
	}
	b.Line("workers", "%s", pinning(x.Workers))
	if x.LookupEnv != nil {
		if n, set := x.LookupEnv(exec.WorkersVariable); set && n != "" {
			b.Line("", "so many because the environment has %s=%s", exec.WorkersVariable, n)
		}
	}
	if x.Devices.Why != "" {
		b.Line("devices", "none: %s", x.Devices.Why)
	}
	for i, d := range x.Devices.Rows {
		b.Line(map[bool]string{true: "devices"}[i == 0], "%s", d.Long())
	}
	if x.Fma.One > 0 {
		b.Line("peak", "FMA f64 (%v): %.1f GFLOP/s on one core, %.1f on %d", x.Fma.ISA, x.Fma.One, x.Fma.All, x.Fma.Cores)
		b.Line("", "memory (triad): %.1f GB/s on one core, %.1f on %d", x.Triad.One, x.Triad.All, x.Triad.Cores)
		if x.Fma.Disturbed || x.Triad.Disturbed {
			b.Line("", "disturbed three times over by what else runs: these may be too low")
		}
	}
	if m.Arch == "arm64" {
		b.Line("", "nobody has timed the kernels on arm64 yet: please file what labench peak prints here as an issue")
	}
}

// programLines says what this build of labench computes with.
func (x *Findings) programLines(b *report.Labelled) {
	build := "no build tags"
	if len(x.Tags) > 0 {
		build = "tags " + strings.Join(x.Tags, ", ")
	}
	b.Line("go", "%s, GOMAXPROCS %d, %s, CGO_ENABLED=%s", x.GoVersion, x.Gomaxprocs, build, x.Cgo)
	if x.Library.Name == "" {
		b.Line("blas", "no C library in this build")
	} else {
		core := ""
		if x.Library.Core != "" {
			core = ", kernels for " + x.Library.Core
		}
		b.Line("blas", "%s%s, called by each worker with one thread", x.Library.Name, core)
		if x.Library.Config != "" {
			b.Line("", "%s", x.Library.Config)
		}
	}
	b.Line("kernels", "%s", byVersion(x.Kernels))
	if x.Profile != "" {
		b.Line("profile", "%s", x.Profile)
	}
}

// byVersion turns a list of ops and versions, "gemm avx512", into one by version: "avx512 for gemm".
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

// instructionSets returns the instruction set extensions that matter to linear algebra.
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

// limits returns the resource limits of this process.
func limits(m *topo.Machine) string {
	quota, memory := "no CPU quota", "no memory limit"
	if m.CPUQuota > 0 {
		quota = fmt.Sprintf("CPU quota %.4g CPUs", m.CPUQuota)
	}
	if m.MemoryLimit > 0 {
		memory = "memory limit " + report.Bytes(float64(m.MemoryLimit))
	}
	if m.Memory > 0 {
		memory += " (the machine has " + report.Bytes(float64(m.Memory)) + ")"
	}
	return quota + ", " + memory
}

// Clock describes the governor and its driver.
func Clock(governor, driver string) string {
	if governor == "" {
		return "not ours to see"
	}
	if driver != "" {
		return fmt.Sprintf("governor %s, driver %s", governor, driver)
	}
	return "governor " + governor
}

// loadLine describes the load of other programs.
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

// Placement says on which NUMA nodes tiles are. nodes and why are the results of [blocked.FirstTouch].
func Placement(nodes int, why string) string {
	if nodes < 2 {
		return "tiles are touched first by the thread that fills them: " + why
	}
	return fmt.Sprintf("tiles of 64 KiB and more are dealt out to %d nodes and touched first there", nodes)
}

// pinning says where workers run.
func pinning(workers []exec.Worker) string {
	var cpus []string
	for _, w := range workers {
		if w.CPUs == nil {
			s := report.Count(len(workers), "worker") + ", not pinned"
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
	return fmt.Sprintf("%s, pinned to CPUs %s", report.Count(len(workers), "worker"), strings.Join(cpus, " "))
}
