package cli

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// ListError reports a number on the command line, or an element of a list, that is not allowed.
type ListError struct {
	Flag    string // without dashes
	Element string

	Allowed string // which values are allowed
}

func (e *ListError) Error() string {
	words := strings.FieldsFunc(strings.TrimPrefix(e.Allowed, "one of "), func(r rune) bool { return r == ',' || r == ';' })
	for i, w := range words {
		words[i] = strings.TrimSpace(w)
	}
	text := fmt.Sprintf("%s: %q is not allowed; want %s", Dashed(e.Flag), e.Element, e.Allowed)
	if k := DidYouMean(e.Element, words); k != "" {
		return text + ". " + k
	}
	return text
}

// maxElements bounds the length of a list, so that a mistyped range does not run for a month.
const maxElements = 1000

// ParseInts parses a comma-separated list of positive numbers and ranges. A range is "first:last:step", or
// "first:last:xfactor" for steps that multiply, as in "64,128,512:4096:512,8192:65536:x2". Repetitions are
// dropped. words maps words of the list to numbers, such as "auto" to 0. The error is a *ListError.
func ParseInts(flag, list string, words map[string]int) ([]int, error) {
	allowed := "a whole number from 1 to 2147483647, a range first:last:step or first:last:xfactor"
	for _, w := range slices.Sorted(maps.Keys(words)) {
		allowed += ", " + w
	}
	allowed += fmt.Sprintf("; at most %d values, separated by commas", maxElements)
	var out []int
	for element := range strings.SplitSeq(list, ",") {
		element = strings.TrimSpace(element)
		values, ok := []int(nil), false
		if v, named := words[element]; named {
			values, ok = []int{v}, true
		} else if strings.Contains(element, ":") {
			values, ok = parseRange(element)
		} else if v, good := positive(element); good {
			values, ok = []int{v}, true
		}
		if !ok || len(out)+len(values) > maxElements {
			return nil, &ListError{flag, element, allowed}
		}
		for _, v := range values {
			if !slices.Contains(out, v) {
				out = append(out, v)
			}
		}
	}
	return out, nil
}

// parseRange parses one range.
func parseRange(element string) (values []int, ok bool) {
	parts := strings.Split(element, ":")
	if len(parts) != 3 {
		return nil, false
	}
	first, ok1 := positive(parts[0])
	last, ok2 := positive(parts[1])
	factor, times := strings.CutPrefix(parts[2], "x")
	step, ok3 := positive(factor)
	if !ok1 || !ok2 || !ok3 || last < first || times && step < 2 {
		return nil, false
	}
	for v := first; v <= last; {
		if len(values) == maxElements {
			return nil, false
		}
		values = append(values, v)
		if times {
			v *= step
		} else {
			v += step
		}
	}
	return values, true
}

// positive parses a whole number from 1 to 2³¹−1. BLAS libraries allow no larger dimension, and sums and
// products of two such numbers do not overflow a 64-bit int.
func positive(s string) (v int, ok bool) {
	u, err := strconv.ParseUint(s, 10, 31)
	return int(u), err == nil && u > 0
}

// ParseWords parses a comma-separated list of known words, in upper or lower case; "all" stands for all of
// them. Repetitions are dropped. The error is a *ListError.
func ParseWords[T interface {
	comparable
	fmt.Stringer
}](flag, list string, known []T) ([]T, error) {
	var out []T
	for element := range strings.SplitSeq(list, ",") {
		element = strings.TrimSpace(element)
		values := known
		if element != "all" {
			i := slices.IndexFunc(known, func(k T) bool { return strings.EqualFold(k.String(), element) })
			if i < 0 {
				return nil, &ListError{flag, element, "all, " + Words(known)}
			}
			values = known[i : i+1]
		}
		for _, v := range values {
			if !slices.Contains(out, v) {
				out = append(out, v)
			}
		}
	}
	return out, nil
}
