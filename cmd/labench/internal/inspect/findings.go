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

// Findings are the results of labench doctor.
type Findings struct {
	Machine  *topo.Machine
	Governor string // of the frequency of the first CPU, empty if unknown
	Driver   string // driver of the governor
	Workers  []exec.Worker
	Devices  setup.Devices
	Tiles    string // on which NUMA nodes the tiles are

	GoVersion  string
	Gomaxprocs int
	Tags       []string
	Cgo        string
	LookupEnv  func(string) (string, bool)

	Library cpu.BLASInfo             // empty Name if there is none
	Without func(name string) string // returns why a library is missing
	Kernels []string                 // the preferred version of each op for f64: "gemm avx512"

	Profile string // file of the profile; empty if there is no directory for it

	Fma, Triad bench.PeakRate // zero if not measured

	Now  *quiet.Now  // the load at the beginning, nil if unknown
	Load *quiet.Load // load of other programs while this program was almost idle; nil if unknown
	Busy *quiet.Load // the same during the measurements, when a hypervisor has cores to take away
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
