package report

import "github.com/tessera-la/tessera/internal/topo"

// MachineLine names the processor, its vector instructions and the memory.
func MachineLine(m *topo.Machine) string {
	s := m.String()
	if isa := Vectors(&m.Identity); isa != "" {
		s += ", " + isa
	}
	if n := m.UsableMemory(); n > 0 {
		s += ", " + Bytes(float64(n))
	}
	return s
}

// Vectors returns the widest vector instructions with FMA that a machine has.
func Vectors(m *topo.Identity) string {
	switch {
	case m.Has("avx512f"):
		return "AVX-512"
	case m.Has("avx2", "fma3"):
		return "AVX2"
	case m.Has("avx"):
		return "AVX"
	case m.Arch == "arm64":
		return "NEON"
	}
	return ""
}
