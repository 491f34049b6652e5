package versions_test

import (
	"testing"

	"github.com/tessera-la/tessera/versions"
)

// cpu is the worker that most tests select for.
func cpu() *versions.Target {
	return &versions.Target{Kind: "cpu", Arch: "amd64", Processor: "Test Processor", Features: []string{"avx2", "fma3"}, Units: 2, Memory: 1 << 30}
}

// opOf returns an op whose work is its parameter, with the named versions.
func opOf(name string, names ...string) *versions.Op {
	op := &versions.Op{Name: name, Type: "f64", Work: func(c *versions.Call) float64 { return c.Params.(float64) }}
	for _, n := range names {
		op.Versions = append(op.Versions, versions.Version{Name: n, Run: func(*versions.Call) error { return nil }})
	}
	return op
}

func callOf(work float64) *versions.Call { return &versions.Call{Params: work} }

func newSelector(t testing.TB, c versions.Config) *versions.Selector {
	t.Helper()
	s, err := versions.NewSelector(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func choose(t testing.TB, s *versions.Selector, op *versions.Op, work float64, on *versions.Target) versions.Choice {
	t.Helper()
	c, err := s.Select(op, callOf(work), on)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// runs selects and records n calls of the given work, a version taking
// perUnit[name] seconds per unit, and counts the exploring runs.
func run(t testing.TB, s *versions.Selector, op *versions.Op, on *versions.Target, work float64, n int, perUnit map[string]float64) map[string]int {
	t.Helper()
	explored := make(map[string]int)
	for range n {
		c := choose(t, s, op, work, on)
		if c.Why == versions.Exploring {
			explored[c.Version.Name]++
		}
		s.Record(c, perUnit[c.Version.Name]*work)
	}
	return explored
}
