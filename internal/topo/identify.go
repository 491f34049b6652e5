package topo

import (
	"runtime"
	"slices"
	"strings"

	"github.com/klauspost/cpuid/v2"
)

// Identify asks the processor what it is. Outside x86 and arm64 only the
// architecture is known.
func Identify() Identity {
	c := &cpuid.CPU
	id := Identity{
		OS:         runtime.GOOS,
		Arch:       runtime.GOARCH,
		Brand:      strings.TrimSpace(c.BrandName),
		Vendor:     c.VendorString,
		Family:     c.Family,
		Model:      c.Model,
		Hypervisor: hypervisor(c.HypervisorVendorString),
	}
	for _, f := range c.FeatureSet() {
		id.Features = append(id.Features, strings.ToLower(f))
	}
	slices.Sort(id.Features)
	if id.Hypervisor == "" && id.Has("hypervisor") {
		id.Hypervisor = "unnamed"
	}
	return id
}

// hypervisor returns the name of a hypervisor whose vendor string, of 12 letters, CPUID has. Some
// repeat a name to fill them.
func hypervisor(vendor string) string {
	vendor = strings.Trim(vendor, " \x00")
	if name := map[string]string{
		"Microsoft Hv": "Hyper-V", "Linux KVM Hv": "KVM", "XenVMMXenVMM": "Xen", "TCGTCGTCGTCG": "QEMU",
		"VBoxVBoxVBox": "VirtualBox", "prl hyperv": "Parallels", "lrpepyh  vr": "Parallels", "QXNQSBMV": "QNX",
	}[vendor]; name != "" {
		return name
	}
	for n := 2; n <= len(vendor)/2; n++ {
		name := vendor[:n]
		if rest := strings.ReplaceAll(vendor, name, ""); strings.TrimSpace(rest) == "" {
			return strings.TrimSpace(name)
		}
	}
	return vendor
}

// cpuidCaches returns the caches by CPUID, for machines that do not list them
// in files.
func cpuidCaches() []Cache {
	c := cpuid.CPU.Cache
	line := cpuid.CPU.CacheLine
	var caches []Cache
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

// CacheSize is [Machine.CacheSize] of this machine by CPUID alone, which takes no time: 0 where there is no CPUID.
func CacheSize(level int) int64 { return (&Machine{Caches: cpuidCaches()}).CacheSize(level) }
