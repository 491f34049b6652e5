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
		return fmt.Sprintf("needs %d computing units, this worker has %d", want, have)
	}
	if t.Memory > 0 && c.Memory > t.Memory {
		return fmt.Sprintf("needs %s of memory, this worker has %s", bytesText(c.Memory), bytesText(t.Memory))
	}
	return ""
}

// Admit returns nil if a worker described by t meets what a task of op asks for by
// constraints of its own, beside those of the op's versions: else a *[NoVersionError].
// An empty Kind is any here, and nil asks for nothing.
func (c *Constraints) Admit(op *Op, t *Target) error {
	if c == nil {
		return nil
	}
	own := *c
	if own.Kind == "" {
		own.Kind = t.Kind
	}
	why := own.Unmet(t)
	if why == "" {
		return nil
	}
	name := ""
	if op != nil {
		name = op.OpName()
	}
	return &NoVersionError{Op: name, Target: t.String(), Reasons: []string{"the task: " + why}}
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

// targetKey is what a measured time belongs to beside op, version and class:
// times of one processor say nothing about another.
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
