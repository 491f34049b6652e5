//go:build linux && amd64 && !noasm

package topo

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	library "github.com/klauspost/cpuid/v2"
)

// TestCPUID compares what the processor says with what the package says that it says.
func TestCPUID(t *testing.T) {
	c, id := &library.CPU, Identify()
	if id.Brand != strings.TrimSpace(c.BrandName) || id.Vendor != c.VendorString || id.Family != c.Family || id.Model != c.Model {
		t.Errorf("%+v, want %q %q %d %d", id, c.BrandName, c.VendorString, c.Family, c.Model)
	}
	if len(id.Features) < 8 {
		t.Errorf("features %v", id.Features)
	}
	for _, e := range extensions {
		names := strings.Fields(e.names)
		for i := 1; i < len(names); i += 2 {
			f := library.ParseFeature(strings.ToUpper(names[i]))
			if f == library.UNKNOWN {
				t.Errorf("the package has no feature %q", names[i])
			}
			if got, want := slices.Contains(id.Features, names[i]), c.Has(f); got != want {
				t.Errorf("%s: %v, want %v", names[i], got, want)
			}
		}
	}
	size := func(level int, kind string) (bytes int) {
		for _, c := range cpuidCaches() {
			if c.Level == level && c.Type == kind {
				bytes = int(c.Size)
			}
		}
		return bytes
	}
	got := [4]int{size(1, "Data"), size(1, "Instruction"), size(2, "Unified"), size(3, "Unified")}
	if want := [4]int{c.Cache.L1D, c.Cache.L1I, c.Cache.L2, max(c.Cache.L3, 0)}; got != want {
		t.Errorf("caches of %d bytes, want %d", got, want)
	}
}

// TestCacheOf has answers of a Xeon with AVX-512 (Skylake).
func TestCacheOf(t *testing.T) {
	for _, test := range []struct {
		about, ways, sets uint32
		want              Cache
	}{
		{0x1c004121, 0x01c0003f, 0x3f, Cache{Level: 1, Type: "Data", Size: 32 << 10, Line: 64}},
		{0x1c004122, 0x01c0003f, 0x3f, Cache{Level: 1, Type: "Instruction", Size: 32 << 10, Line: 64}},
		{0x1c004143, 0x03c0003f, 0x3ff, Cache{Level: 2, Type: "Unified", Size: 1 << 20, Line: 64}},
		{0x1c03c163, 0x0280003f, 0x4fff, Cache{Level: 3, Type: "Unified", Size: 11 * 20480 * 64, Line: 64}},
	} {
		if got, ok := cacheOf(test.about, test.ways, test.sets); !ok || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%x: %+v, want %+v", test.about, got, test.want)
		}
	}
	if c, ok := cacheOf(0, 0, 0); ok {
		t.Errorf("%+v, want none", c)
	}
}
