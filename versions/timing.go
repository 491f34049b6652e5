package versions

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// Timing is one entry of a profile: the runs of one version of one op in one
// size class, on one processor.
type Timing struct {
	Op        string  `json:"op"` // with its type: "gemm/f64"
	Class     int     `json:"class"`
	Version   string  `json:"version"`
	Kind      string  `json:"kind"`
	Arch      string  `json:"arch"`
	Processor string  `json:"processor"`
	Runs      uint64  `json:"runs"`  // runs timed, with the warm-ups
	Count     uint64  `json:"count"` // runs that are in Mean and SD
	Mean      float64 `json:"mean"`  // seconds per unit of work
	SD        float64 `json:"sd"`    // sample standard deviation of the same
}

// timingKey identifies a Timing among others.
type timingKey struct {
	bookKey
	class   int
	version string
}

func (t *Timing) key() timingKey {
	return timingKey{bookKey{targetKey{t.Kind, t.Arch, t.Processor}, t.Op}, t.Class, t.Version}
}

func (t *Timing) moments() moments {
	m := moments{runs: t.Runs, count: t.Count, mean: t.Mean}
	if t.Count > 1 {
		m.m2 = t.SD * t.SD * float64(t.Count-1)
	}
	return m
}

func timingOf(k timingKey, m moments) Timing {
	return Timing{
		Op: k.op, Class: k.class, Version: k.version,
		Kind: k.kind, Arch: k.arch, Processor: k.processor,
		Runs: m.runs, Count: m.count, Mean: m.mean, SD: m.sd(),
	}
}

// compareTimings orders by processor, op, class and version.
func compareTimings(a, b Timing) int {
	return cmp.Or(
		strings.Compare(a.Kind, b.Kind),
		strings.Compare(a.Arch, b.Arch),
		strings.Compare(a.Processor, b.Processor),
		strings.Compare(a.Op, b.Op),
		cmp.Compare(a.Class, b.Class),
		strings.Compare(a.Version, b.Version),
	)
}

// validate reports values of t that no measurement gives. Its comparisons are false for NaN.
func (t *Timing) validate() error {
	if err := checkNames(t.Op, t.Version, t.Kind, t.Arch, t.Processor); err != nil {
		return err
	}
	switch {
	case t.Op == "" || t.Version == "" || t.Kind == "":
		return errors.New("op, version or kind is missing")
	case t.Class < 0 || t.Class >= NumClasses:
		return fmt.Errorf("class %d out of range", t.Class)
	case t.Count < 1 || t.Count > t.Runs || t.Runs > maxCount:
		return fmt.Errorf("count %d of %d runs out of range", t.Count, t.Runs)
	case !(t.Mean > 0 && t.Mean <= maxSeconds):
		return fmt.Errorf("mean %g out of range", t.Mean)
	case !(t.SD >= 0 && t.SD <= maxSeconds):
		return fmt.Errorf("standard deviation %g out of range", t.SD)
	}
	return nil
}

type bookKey struct {
	targetKey
	op string
}

// maxSeconds bounds the seconds per unit of work in a profile.
const maxSeconds = 1e12
