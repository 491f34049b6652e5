package inspect

import (
	"fmt"
	"strings"

	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/cmd/labench/internal/setup"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/internal/quiet"
	"github.com/tessera-la/tessera/internal/report"
	"github.com/tessera-la/tessera/internal/topo"
	"github.com/tessera-la/tessera/kernels/cpu"
)

// Findings is what labench doctor has found out.
type Findings struct {
	Machine  *topo.Machine
	Governor string // of the frequency of the first CPU, empty if unknown
	Driver   string // that the governor works with
	Workers  []exec.Worker
	Devices  setup.Devices
	Tiles    string // on which NUMA nodes the memory of tiles is

	GoVersion  string
	Gomaxprocs int
	Tags       []string
	Cgo        string
	LookupEnv  func(string) (string, bool)

	Library cpu.BLASInfo             // empty Name if there is none
	Without func(name string) string // why a library is not there
	Kernels []string                 // "gemm avx512": each op on f64 and the version that is preferred

	Profile string // file of the versions' profile, empty if there is no place for it

	Fma, Triad bench.PeakRate // zero if not measured

	Now  *quiet.Now  // the load at the beginning, nil if unknown
	Load *quiet.Load // what else ran while this program did next to nothing; nil if unknown
	Busy *quiet.Load // the same while it measured, when a hypervisor has something to take
}

// caches returns the data caches.
func caches(m *topo.Machine) string {
	var all []string
	for _, c := range m.Caches {
		if c.Type == "Instruction" {
			continue
		}
		s := fmt.Sprintf("L%d %s", c.Level, report.Bytes(float64(c.Size)))
		if n := len(c.Shared); n > 1 {
			s = fmt.Sprintf("L%d %d× %s", c.Level, n, report.Bytes(float64(c.Size)))
		}
		all = append(all, s)
	}
	if all == nil {
		return "unknown"
	}
	return strings.Join(all, ", ")
}
