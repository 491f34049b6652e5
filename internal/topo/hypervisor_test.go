package topo

import "testing"

// TestHypervisor: names as CPUID has them, which fill twelve letters.
func TestHypervisor(t *testing.T) {
	for vendor, want := range map[string]string{
		"KVMKVMKVM\x00\x00\x00": "KVM", "Linux KVM Hv": "KVM", "Microsoft Hv": "Hyper-V", "VMwareVMware": "VMware", "XenVMMXenVMM": "Xen", "bhyve bhyve ": "bhyve",
		"TCGTCGTCGTCG": "QEMU", "ACRNACRNACRN": "ACRN", "VBoxVBoxVBox": "VirtualBox", " lrpepyh  vr": "Parallels", "": "", "Jailhouse\x00\x00\x00": "Jailhouse", "SRESRESRESRE": "SRE",
	} {
		if got := hypervisor(vendor); got != want {
			t.Errorf("%q: %q, want %q", vendor, got, want)
		}
	}
}
