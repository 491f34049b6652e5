package versions_test

import (
	"fmt"

	"github.com/tessera-la/tessera/versions"
)

// A runtime asks a selector for the version of each task, and tells it how
// long the run took.
func ExampleSelector() {
	work := func(c *versions.Call) float64 { return c.Params.(float64) }
	run := func(*versions.Call) error { return nil }
	axpy := &versions.Op{Name: "axpy", Type: "f64", Work: work, Versions: []versions.Version{
		{Name: "go", Run: run},
		{Name: "avx512", Run: run, Constraints: versions.Constraints{Features: []string{"avx512f"}}},
		{Name: "avx2", Run: run, Constraints: versions.Constraints{Features: []string{"avx2"}}},
	}}
	worker := &versions.Target{Arch: "amd64", Processor: "Example 1", Features: []string{"avx2"}}
	seconds := map[string]float64{"go": 4e-3, "avx2": 1e-3} // instead of a clock

	s, err := versions.NewSelector(versions.Config{Mode: versions.Thorough, Explore: 3})
	if err != nil {
		fmt.Println(err)
		return
	}
	call := &versions.Call{Params: 1e6}
	for range 8 {
		c, err := s.Select(axpy, call, worker)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(c.Version.Name, c.Why)
		if err := c.Version.Run(call); err != nil {
			s.Abandon(c)
			continue
		}
		s.Record(c, seconds[c.Version.Name])
	}
	fmt.Println()
	fmt.Print(s.Explain(axpy, call, worker))
	// Output:
	// go exploring
	// avx2 exploring
	// go exploring
	// avx2 exploring
	// go exploring
	// avx2 exploring
	// avx2 lowest expected time
	// avx2 lowest expected time
	//
	// axpy/f64 on cpu amd64, Example 1
	// work 1e+06, size class 9 (from 2.62e+05 to below 1.05e+06)
	//   version            runs  seconds per unit, mean ± sd    expected
	//   go                    2  4e-09 ± 0                      4 ms
	//   avx512           needs avx512f, which this processor lacks
	// > avx2                  4  1e-09 ± 0                      1 ms
	// chosen: avx2, lowest expected time
}
