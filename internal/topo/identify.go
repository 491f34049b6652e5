package topo

import (
	"runtime"
	"slices"
	"strings"
)

// Has is [Identity.Has] of this machine. It asks the processor for no more than that, which takes no time beside [Identify].
func Has(names ...string) bool {
	return len(names) == 0 || (&Identity{Features: features(names...)}).Has(names...)
}

// Identify asks the processor what it is. Outside x86 and arm64 only the
// architecture is known.
func Identify() Identity {
	id := Identity{OS: runtime.GOOS, Arch: runtime.GOARCH, Features: features()}
	slices.Sort(id.Features)
	describe(&id)
	id.Brand = strings.TrimSpace(id.Brand)
	id.Hypervisor = hypervisor(id.Hypervisor)
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

// CacheSize is [Machine.CacheSize] of this machine by CPUID alone, which takes no time: 0 where there is no CPUID.
func CacheSize(level int) int64 { return (&Machine{Caches: cpuidCaches()}).CacheSize(level) }
