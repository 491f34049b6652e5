package inspect

import (
	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/cmd/labench/internal/setup"
	"github.com/tessera-la/tessera/internal/origin"
	"github.com/tessera-la/tessera/internal/quiet"
	"github.com/tessera-la/tessera/internal/topo"
)

// DoctorDocument is what labench doctor --json prints.
type DoctorDocument struct {
	Machine   doctorMachine     `json:"machine"`
	Workers   []doctorWorker    `json:"workers"`
	Devices   []setup.DeviceRow `json:"devices"`
	NoDevice  string            `json:"no_device,omitempty"` // why there is none
	Build     doctorBuild       `json:"build"`
	Library   *doctorLibrary    `json:"blas"`             // null if there is none in this build
	Kernels   []string          `json:"kernels"`          // preferred versions for f64: "gemm avx512"
	Profile   string            `json:"profile"`          // file; empty if there is no directory for it
	Commit    string            `json:"commit"`           // that this program was built from
	Load      doctorLoad        `json:"load"`             // of other programs
	Peak      *doctorPeak       `json:"peak,omitempty"`   // GFLOP/s of FMA on f64
	Bandwidth *doctorPeak       `json:"memory,omitempty"` // GB/s of a triad
	Diagnoses []diagnosis       `json:"diagnoses"`        // the most costly first
}

type doctorMachine struct {
	Processor  string   `json:"processor"`
	Hypervisor string   `json:"hypervisor,omitempty"`
	OS         string   `json:"os"`
	Arch       string   `json:"arch"`
	Features   []string `json:"features"`
	Cores      int      `json:"cores"`
	Sockets    int      `json:"sockets"`
	Online     string   `json:"cpus_online"`
	Allowed    string   `json:"cpus_allowed"`
	Caches     string   `json:"caches"`
	Numa       []string `json:"numa"`         // CPUs of each node
	Tiles      string   `json:"tiles"`        // on which NUMA nodes tiles are
	Quota      float64  `json:"cpu_quota"`    // CPUs; 0 if there is none
	Memory     int64    `json:"memory"`       // bytes; 0 if unknown
	Limit      int64    `json:"memory_limit"` // of the control group; 0 if none
	Governor   string   `json:"governor,omitempty"`
	Driver     string   `json:"driver,omitempty"`
	Notes      []string `json:"notes"`
}

type doctorWorker struct {
	CPUs string `json:"cpus"` // empty if it is not pinned
	Note string `json:"note,omitempty"`
}

type doctorBuild struct {
	Go         string   `json:"go"`
	GOMAXPROCS int      `json:"gomaxprocs"`
	Tags       []string `json:"tags"`
	CGO        string   `json:"cgo_enabled"`
}

type doctorLibrary struct {
	Name   string `json:"name"`
	Core   string `json:"core"` // processor for which its kernels are
	Config string `json:"config"`
}

type doctorPeak struct {
	ISA   string  `json:"isa,omitempty"`
	One   float64 `json:"one"` // on one core
	All   float64 `json:"all"` // on Cores
	Cores int     `json:"cores"`
	// Disturbed says that other programs disturbed every measurement.
	Disturbed bool `json:"disturbed"`
}

// doctorLoad is the load of other programs.
type doctorLoad struct {
	Average  *[3]float64 `json:"average,omitempty"`  // over 1, 5 and 15 minutes
	Pressure *float64    `json:"pressure,omitempty"` // part of the last 10 s in which threads waited for a CPU
	Idle     *quiet.Load `json:"idle,omitempty"`     // while doctor was almost idle
	Busy     *quiet.Load `json:"busy,omitempty"`     // while it measured the peaks
}

// Document returns the findings for programs. Lists are never null.
func (x *Findings) Document() DoctorDocument {
	m := x.Machine
	doc := DoctorDocument{
		Machine: doctorMachine{Processor: m.Brand, Hypervisor: m.Hypervisor, OS: m.OS, Arch: m.Arch, Features: append([]string{}, m.Features...),
			Cores: len(m.Cores), Sockets: m.Packages(), Online: m.Online.String(), Allowed: m.Allowed.String(), Caches: caches(m),
			Numa: []string{}, Tiles: x.Tiles, Quota: m.CPUQuota, Memory: m.Memory, Limit: m.MemoryLimit, Governor: x.Governor, Driver: x.Driver,
			Notes: append([]string{}, m.Notes...)},
		Workers:   []doctorWorker{},
		Devices:   append([]setup.DeviceRow{}, x.Devices.Rows...),
		NoDevice:  x.Devices.Why,
		Build:     doctorBuild{Go: x.GoVersion, GOMAXPROCS: x.Gomaxprocs, Tags: append([]string{}, x.Tags...), CGO: x.Cgo},
		Kernels:   append([]string{}, x.Kernels...),
		Profile:   x.Profile,
		Commit:    origin.Here().Commit,
		Diagnoses: append([]diagnosis{}, x.Diagnose()...),
	}
	for _, n := range m.Nodes {
		doc.Machine.Numa = append(doc.Machine.Numa, n.CPUs.String())
	}
	for _, w := range x.Workers {
		doc.Workers = append(doc.Workers, doctorWorker{topo.CPUSet(w.CPUs).String(), w.Note})
	}
	if x.Library.Name != "" {
		doc.Library = &doctorLibrary{x.Library.Name, x.Library.Core, x.Library.Config}
	}
	doc.Load.Idle, doc.Load.Busy = x.Load, x.Busy
	if x.Now != nil {
		doc.Load.Average = &x.Now.Average
		if x.Now.Pressure >= 0 {
			doc.Load.Pressure = &x.Now.Pressure
		}
	}
	rate := func(r bench.PeakRate) *doctorPeak {
		if r.One <= 0 {
			return nil
		}
		return &doctorPeak{One: r.One, All: r.All, Cores: r.Cores, Disturbed: r.Disturbed}
	}
	if doc.Peak, doc.Bandwidth = rate(x.Fma), rate(x.Triad); doc.Peak != nil {
		doc.Peak.ISA = x.Fma.ISA.String()
	}
	return doc
}
