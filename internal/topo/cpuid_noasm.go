//go:build !linux || !amd64 || noasm

package topo

import (
	"slices"
	"strings"

	"github.com/klauspost/cpuid/v2"
)

// features returns the names of the extensions that the processor and the operating system offer, in no order: those
// among wanted, or all if that is empty.
func features(wanted ...string) (names []string) {
	for _, f := range cpuid.CPU.FeatureSet() {
		if f = strings.ToLower(f); len(wanted) == 0 || slices.Contains(wanted, f) {
			names = append(names, f)
		}
	}
	return names
}

// describe sets the brand, vendor, family and model of id, and the vendor string of the hypervisor.
func describe(id *Identity) {
	c := &cpuid.CPU
	id.Brand, id.Vendor, id.Family, id.Model, id.Hypervisor = c.BrandName, c.VendorString, c.Family, c.Model, c.HypervisorVendorString
}

// cpuidCaches returns the caches by CPUID, for machines that do not list them
// in files.
func cpuidCaches() []Cache {
	var caches []Cache
	c := cpuid.CPU.Cache
	line := cpuid.CPU.CacheLine
	add := func(level int, kind string, size int) {
		if size > 0 {
			caches = append(caches, Cache{Level: level, Type: kind, Size: int64(size), Line: line})
		}
	}
	add(1, "Data", c.L1D)
	add(1, "Instruction", c.L1I)
	add(2, "Unified", c.L2)
	add(3, "Unified", c.L3)
	return caches
}
