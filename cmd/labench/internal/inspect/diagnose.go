package inspect

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tessera-la/tessera/internal/report"
	"github.com/tessera-la/tessera/internal/topo"
	"github.com/tessera-la/tessera/kernels/cpu"
)

// diagnosis is something that slows the machine down, and a remedy.
type diagnosis struct {
	Finding string `json:"finding"`
	Remedy  string `json:"remedy"`
}

// Diagnose returns the diagnoses, the most costly first.
func (x *Findings) Diagnose() []diagnosis {
	var all []diagnosis
	for _, look := range []func() (finding, remedy string){
		x.othersRun, x.hypervisorSteals, x.kernelsTooPortable, x.tagWithoutLibrary, x.openBLASBelow, x.openBLASEnvironment,
		x.gomaxprocsTooSmall, x.quotaTooSmall, x.coresShared, x.workersFloat, x.governorSaves,
	} {
		if finding, remedy := look(); finding != "" {
			all = append(all, diagnosis{finding, remedy})
		}
	}
	return all
}

func (x *Findings) othersRun() (string, string) {
	if x.Load == nil || x.Load.Others < 0.1 {
		return "", ""
	}
	return fmt.Sprintf("other programs keep %.1f of %s busy: what is measured now is too slow", x.Load.Others, report.Count(x.Load.CPUs, "CPU")),
		"stop them (top shows which), or measure elsewhere"
}

func (x *Findings) hypervisorSteals() (string, string) {
	if x.Busy == nil || x.Busy.Steal < 0.02*float64(x.Busy.CPUs) {
		return "", ""
	}
	return fmt.Sprintf("the hypervisor gave %.2f of %s to other virtual machines while all were busy", x.Busy.Steal, report.Count(x.Busy.CPUs, "CPU")),
		"take a machine whose CPUs are not shared, or measure often: the best run counts"
}

func (x *Findings) kernelsTooPortable() (string, string) {
	for _, k := range x.Kernels {
		if k == "gemm go" && width(x.Machine) >= 2 {
			remedy := "build with -tags openblas"
			if slices.Contains(x.Tags, "noasm") {
				remedy = "build without the tag noasm"
			}
			return "the kernels of this build are portable Go, without the vector instructions that this processor has (" +
				report.Vectors(&x.Machine.Identity) + "): about a tenth of its peak", remedy
		}
	}
	return "", ""
}

func (x *Findings) tagWithoutLibrary() (string, string) {
	for _, name := range cpu.BLASLibraries() {
		if slices.Contains(x.Tags, name) && x.Library.Name != name {
			return fmt.Sprintf("the build has the tag %s and yet not the library: %s", name, x.Without(name)),
				"build with CGO_ENABLED=1 and one of these tags alone"
		}
	}
	return "", ""
}

// width ranks the vector instructions of a machine: 0 for SSE or none, 1 for AVX, 2 for AVX2 with FMA and for NEON,
// 3 for AVX-512.
func width(m *topo.Machine) int {
	return map[string]int{"AVX": 1, "AVX2": 2, "NEON": 2, "AVX-512": 3}[report.Vectors(&m.Identity)]
}

// coreWidth ranks the processors for which OpenBLAS has kernels by their vector instructions, as width does. It
// returns -1 for an unknown processor.
func coreWidth(core string) int {
	switch strings.ToLower(core) {
	case "katmai", "coppermine", "northwood", "prescott", "banias", "yonah", "core2", "penryn", "dunnington", "nehalem", "atom", "nano",
		"athlon", "opteron", "opteron_sse3", "barcelona", "bobcat":
		return 0
	case "sandybridge", "bulldozer", "piledriver", "steamroller":
		return 1
	case "haswell", "excavator", "zen":
		return 2
	case "skylakex", "cooperlake", "sapphirerapids":
		return 3
	}
	return -1
}

// StrawMan describes the settings in the environment that make OpenBLAS slower than it could be on this
// machine.
func StrawMan(lookupEnv func(string) (string, bool)) []string {
	var set []string
	for _, name := range []string{"OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"} {
		if v, ok := lookupEnv(name); ok {
			set = append(set, name+"="+v)
		}
	}
	return set
}

const unsetOpenBLAS = "unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE"

// openBLASSet returns the settings in the environment that override OpenBLAS's own choices.
func (x *Findings) openBLASSet() []string {
	if x.LookupEnv == nil || x.Library.Name != "openblas" {
		return nil
	}
	return StrawMan(x.LookupEnv)
}

func (x *Findings) openBLASBelow() (string, string) {
	have := coreWidth(x.Library.Core)
	if x.Library.Name != "openblas" || have < 0 || have >= width(x.Machine) {
		return "", ""
	}
	finding := fmt.Sprintf("OpenBLAS runs kernels for %s, which do not use the %s of this processor", x.Library.Core, report.Vectors(&x.Machine.Identity))
	if set := x.openBLASSet(); set != nil {
		return finding + ": the environment sets " + strings.Join(set, " and "), unsetOpenBLAS
	}
	return finding + ": it does not know the processor",
		"take a newer OpenBLAS, or tell it a processor with the same instructions, as OPENBLAS_CORETYPE=SkylakeX"
}

func (x *Findings) openBLASEnvironment() (string, string) {
	if finding, _ := x.openBLASBelow(); finding != "" {
		return "", "" // reported elsewhere
	}
	if set := x.openBLASSet(); set != nil {
		return "the environment sets " + strings.Join(set, " and ") + ", which overrides OpenBLAS' own choice of kernels and blocks", unsetOpenBLAS
	}
	return "", ""
}

func (x *Findings) gomaxprocsTooSmall() (string, string) {
	if x.Gomaxprocs >= len(x.Workers) {
		return "", ""
	}
	return fmt.Sprintf("GOMAXPROCS is %d, so that of %d workers no more run at a time", x.Gomaxprocs, len(x.Workers)), "unset GOMAXPROCS"
}

func (x *Findings) quotaTooSmall() (string, string) {
	m := x.Machine
	cores := float64(len(m.Cores))
	switch q := m.CPUQuota; {
	case q == 0 || q >= cores:
		return "", ""
	case q == math.Trunc(q):
		return fmt.Sprintf("the cgroup's quota is %g of %g cores", q, cores), "raise the quota of the container"
	default:
		return fmt.Sprintf("the cgroup's quota is %.4g CPUs, not a whole number: workers are stopped in the middle of tasks", q),
			"give the container a whole number of CPUs, or run with --workers " + fmt.Sprint(max(1, int(q)))
	}
}

// enough is the part of the number of cores times the peak of one core that all cores should reach together.
// Processors lower the clock if all cores are busy, but rarely by more.
const enough = 0.7

func (x *Findings) coresShared() (string, string) {
	r := x.Fma
	if r.Cores < 2 || r.All >= enough*r.One*float64(r.Cores) {
		return "", ""
	}
	return fmt.Sprintf("%d cores together reach %.1f times the FMA peak of one: they are shared with other processes or machines, "+
			"are two threads of one core, or are throttled", r.Cores, r.All/r.One),
		"stop what else runs, look at the temperature, and compare runs with fewer --workers"
}

func (x *Findings) workersFloat() (string, string) {
	for _, w := range x.Workers {
		if w.CPUs == nil {
			why := ""
			if w.Note != "" {
				why = ": " + w.Note
			}
			remedy := "allow sched_setaffinity, as the seccomp profile of a container may not"
			if x.Machine.OS != "linux" {
				remedy = "none here: they are pinned on Linux"
			}
			return "workers cannot be pinned to cores" + why, remedy
		}
	}
	return "", ""
}

// governorSaves looks for governors that keep the clock low. With the drivers intel_pstate and amd-pstate, the
// governor powersave follows the load, which is fine.
func (x *Findings) governorSaves() (string, string) {
	follows := strings.Contains(x.Driver, "pstate")
	if !slices.Contains([]string{"powersave", "conservative", "userspace"}, x.Governor) || follows {
		return "", ""
	}
	return fmt.Sprintf("the frequency governor is %s, which keeps the clock low", x.Governor), "cpupower frequency-set -g performance"
}
