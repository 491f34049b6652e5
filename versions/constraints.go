package versions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Constraints are the requirements of a version on its worker, after the constraints of PyCOMPSs
// (architecture, processor name, computing units, memory). Every CPU worker meets the zero value.
type Constraints struct {
	// Kind of device: "cpu" (the default when empty) or "cuda".
	Kind string
	// Arch is the instruction set architecture in Go's words ("amd64"), empty
	// for any.
	Arch string
	// Processor is a processor name as the node description gives it
	// ("KNL"), empty for any. Case does not matter.
	Processor string
	// Features are ISA extensions that must all be present, in lower case:
	// "avx2", "fma3", "avx512f".
	Features []string
	// Units is the number of computing units (cores) that one call occupies; 0 means 1. A task waits
	// until so many workers of one place, of the same kind and with one near memory, are idle.
	Units int
	// Memory is the number of bytes of device or node memory that any call needs beside its
	// operands; 0 means none. [Version.Memory] is for needs that depend on the call.
	Memory int64
}

// Unmet returns the first reason why a worker described by t cannot run a
// version with constraints c, in words, or "" if it can:
//
//	needs avx512f, which this processor lacks
//
// The order of the checks is kind, architecture, processor, features,
// computing units, memory. Names are compared without regard to case. The
// processor matches if its name equals c.Processor or contains it as a word
// or words: "KNL" matches "Xeon Phi 7210 (KNL)" but not "KNLX".
func (c Constraints) Unmet(t *Target) string {
	if want, have := kindOf(c.Kind), kindOf(t.Kind); want != have {
		return fmt.Sprintf("needs a %s worker, this one is %s", want, have)
	}
	if c.Arch != "" && !strings.EqualFold(c.Arch, t.Arch) {
		return fmt.Sprintf("needs architecture %s, this one is %s", c.Arch, cmp.Or(t.Arch, "unknown"))
	}
	if c.Processor != "" && !containsWord(t.Processor, c.Processor) {
		return fmt.Sprintf("needs processor %s, this one is %s", c.Processor, cmp.Or(t.Processor, "unknown"))
	}
	for _, f := range c.Features {
		if !slices.ContainsFunc(t.Features, func(have string) bool { return strings.EqualFold(have, f) }) {
			return fmt.Sprintf("needs %s, which this processor lacks", f)
		}
	}
	if want, have := max(c.Units, 1), max(t.Units, 1); want > have {
		return fmt.Sprintf("needs %d computing units, and workers here have %d together", want, have)
	}
	if t.Memory > 0 && c.Memory > t.Memory {
		return fmt.Sprintf("needs %s of memory, this worker has %s", bytesText(c.Memory), bytesText(t.Memory))
	}
	return ""
}

// containsWord reports whether word occurs in name, regardless of case, with
// neither a letter nor a digit directly before or after it.
func containsWord(name, word string) bool {
	name, word = strings.ToLower(name), strings.ToLower(strings.TrimSpace(word))
	if word == "" {
		return true
	}
	for from := 0; ; {
		i := strings.Index(name[from:], word)
		if i < 0 {
			return false
		}
		i += from
		before, _ := utf8.DecodeLastRuneInString(name[:i])
		after, _ := utf8.DecodeRuneInString(name[i+len(word):])
		if !isWordRune(before) && !isWordRune(after) {
			return true
		}
		_, size := utf8.DecodeRuneInString(name[i:])
		from = i + size
	}
}

// isWordRune is false for the RuneError that decoding an empty string gives.
func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// bytesText prints a number of bytes with a binary unit.
func bytesText(n int64) string {
	const units = "KMGTPE"
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	x, u := float64(n)/1024, 0
	for x >= 1024 && u < len(units)-1 {
		x, u = x/1024, u+1
	}
	return fmt.Sprintf("%.4g %ciB", x, units[u])
}
