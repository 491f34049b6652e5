package versions

import (
	"cmp"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

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

// kindOf spells out the default kind.
func kindOf(kind string) string { return strings.ToLower(cmp.Or(kind, "cpu")) }

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
