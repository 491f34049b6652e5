package versions_test

import (
	"testing"

	"github.com/tessera-la/tessera/versions"
)

// BenchmarkSelect shows what a choice costs a worker, from the one that needs
// no thought to the one that is measured.
func BenchmarkSelect(b *testing.B) {
	var (
		on   = cpu()
		op   = opOf("gemm", "go", "avx2", "openblas")
		call = callOf(1e6)
	)
	for _, test := range []struct {
		name   string
		config versions.Config
	}{
		{"sole", versions.Config{Only: []string{"avx2"}}},
		{"static", versions.Config{Mode: versions.Static}},
		{"settled", versions.Config{}},
	} {
		s := newSelector(b, test.config)
		run(b, s, op, on, 1e6, 100, map[string]float64{"go": 3e-9, "avx2": 1e-9, "openblas": 2e-9})
		if c := choose(b, s, op, 1e6, on); c.Version.Name != "avx2" && test.name != "static" || c.Timed {
			b.Fatalf("%s: not settled: %+v", test.name, c)
		}
		b.Run(test.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Select(op, call, on); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(test.name+"/parallel", func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := s.Select(op, call, on); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}

// BenchmarkSelectRecord shows what a choice and its record cost while the
// versions are being explored.
func BenchmarkSelectRecord(b *testing.B) {
	on, op, call := cpu(), opOf("gemm", "go", "avx2", "openblas"), callOf(1e6)
	s := newSelector(b, versions.Config{Mode: versions.Thorough, Explore: 1 << 20})
	b.ReportAllocs()
	for b.Loop() {
		c, err := s.Select(op, call, on)
		if err != nil {
			b.Fatal(err)
		}
		s.Record(c, 1e-3)
	}
}
