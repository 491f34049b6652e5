package versions

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

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

// kindOf spells out the default kind.
func kindOf(kind string) string { return strings.ToLower(cmp.Or(kind, "cpu")) }

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

// targetKey identifies a kind of worker in a profile: times of one processor say nothing about
// another.
type targetKey struct {
	kind, arch, processor string
}

func keyOf(t *Target) targetKey {
	return targetKey{clean(kindOf(t.Kind)), clean(strings.ToLower(t.Arch)), clean(strings.TrimSpace(t.Processor))}
}

func (k targetKey) String() string {
	s := k.kind
	if k.arch != "" {
		s += " " + k.arch
	}
	if k.processor != "" {
		s += ", " + k.processor
	}
	return s
}

// maxName bounds a name in a profile, in bytes.
const maxName = 256

// clean makes a name fit for the profile's file: valid UTF-8, printable, not
// too long.
func clean(s string) string {
	if len(s) <= maxName && printable(s) {
		return s
	}
	s = strings.Map(func(r rune) rune {
		if unprintable(r) {
			return -1
		}
		return r
	}, s)
	if len(s) > maxName {
		s = strings.ToValidUTF8(s[:maxName], "")
	}
	return s
}

func unprintable(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }

func printable(s string) bool { return !strings.ContainsFunc(s, unprintable) }

// checkNames returns an error unless clean would leave all names as they are.
func checkNames(names ...string) error {
	for _, name := range names {
		if len(name) > maxName || !printable(name) {
			return errors.New("a name is too long or not printable")
		}
	}
	return nil
}

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

// Target describes a worker to the selector: what it can run. A Target is
// read-only once a worker uses it.
type Target struct {
	Kind      string   // "cpu" (also when empty) or "cuda"
	Arch      string   // GOARCH of the worker
	Processor string   // processor name: CPUID brand, or as declared
	Features  []string // ISA extensions, lower case
	Units     int      // computing units that a call may have: the workers of a place; 0 means 1
	Memory    int64    // bytes of memory; 0 means unknown and unbounded
	// Ops are the ops that the worker may execute, as in "gemm", or "gemm/f64"; nil means all of
	// which it has a version.
	Ops []string
}

// String describes the worker for errors.
func (t *Target) String() string { return keyOf(t).String() }
