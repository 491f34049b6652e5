package versions_test

import (
	"testing"

	"github.com/tessera-la/tessera/versions"
)

func TestUnmet(t *testing.T) {
	knl := &versions.Target{Arch: "amd64", Processor: "Intel(R) Xeon Phi(TM) CPU 7210 (KNL)", Features: []string{"avx2", "avx512f"}, Units: 4, Memory: 4 << 30}
	for _, test := range []struct {
		name string
		c    versions.Constraints
		on   *versions.Target
		want string
	}{
		{"zero on zero", versions.Constraints{}, &versions.Target{}, ""},
		{"zero on knl", versions.Constraints{}, knl, ""},
		{"kind", versions.Constraints{Kind: "cuda"}, knl, "needs a cuda worker, this one is cpu"},
		{"default kind", versions.Constraints{}, &versions.Target{Kind: "cuda"}, "needs a cpu worker, this one is cuda"},
		{"kind spelled out", versions.Constraints{Kind: "cpu"}, &versions.Target{}, ""},
		{"arch", versions.Constraints{Arch: "arm64"}, knl, "needs architecture arm64, this one is amd64"},
		{"arch unknown", versions.Constraints{Arch: "arm64"}, &versions.Target{}, "needs architecture arm64, this one is unknown"},
		{"processor word", versions.Constraints{Processor: "knl"}, knl, ""},
		{"processor words", versions.Constraints{Processor: "xeon phi"}, knl, ""},
		{"processor equal", versions.Constraints{Processor: "KNL"}, &versions.Target{Processor: "knl"}, ""},
		{"processor part of a word", versions.Constraints{Processor: "72"}, knl, "needs processor 72, this one is Intel(R) Xeon Phi(TM) CPU 7210 (KNL)"},
		{"processor prefix then word", versions.Constraints{Processor: "KNL"}, &versions.Target{Processor: "KNLX KNL"}, ""},
		{"processor longer", versions.Constraints{Processor: "KNL"}, &versions.Target{Processor: "KNLX"}, "needs processor KNL, this one is KNLX"},
		{"processor non-ASCII", versions.Constraints{Processor: "é"}, &versions.Target{Processor: "ÉÉ É"}, ""},
		{"processor unknown", versions.Constraints{Processor: "KNL"}, &versions.Target{}, "needs processor KNL, this one is unknown"},
		{"features", versions.Constraints{Features: []string{"avx2", "AVX512F"}}, knl, ""},
		{"feature", versions.Constraints{Features: []string{"avx2", "amx"}}, knl, "needs amx, which this processor lacks"},
		{"units", versions.Constraints{Units: 4}, knl, ""},
		{"too few units", versions.Constraints{Units: 5}, knl, "needs 5 computing units, and workers here have 4 together"},
		{"default units", versions.Constraints{Units: 2}, &versions.Target{}, "needs 2 computing units, and workers here have 1 together"},
		{"memory", versions.Constraints{Memory: 4 << 30}, knl, ""},
		{"memory unknown", versions.Constraints{Memory: 1 << 60}, &versions.Target{}, ""},
		{"too little memory", versions.Constraints{Memory: 6 << 30}, knl, "needs 6 GiB of memory, this worker has 4 GiB"},
		{"first reason", versions.Constraints{Kind: "cuda", Arch: "arm64"}, knl, "needs a cuda worker, this one is cpu"},
	} {
		if got := test.c.Unmet(test.on); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}
