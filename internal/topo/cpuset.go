package topo

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// CPUSet is a set of logical CPUs by the operating system's numbers, in
// ascending order and without repetition.
type CPUSet []int

// maxCPU bounds the CPU numbers that ParseCPUSet believes: ten times what
// Linux can be built for, so that a broken file costs no memory.
const maxCPU = 1 << 17

// ParseCPUSet reads the list format of the Linux kernel, as in "0-3,8,10-11".
// An empty list is the empty set. Ranges may overlap.
func ParseCPUSet(s string) (CPUSet, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return nil, nil
	}
	type span struct{ first, last int }
	var spans []span
	for part := range strings.SplitSeq(s, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(part), "-")
		lo, err := strconv.Atoi(first)
		hi := lo
		if err == nil && isRange {
			hi, err = strconv.Atoi(last)
		}
		if err != nil || lo < 0 || hi < lo || hi >= maxCPU {
			return nil, fmt.Errorf("topo: %q is not a list of CPUs", s)
		}
		spans = append(spans, span{lo, hi})
	}
	slices.SortFunc(spans, func(a, b span) int { return a.first - b.first })
	var set CPUSet
	next := 0
	for _, sp := range spans {
		for next = max(next, sp.first); next <= sp.last; next++ {
			set = append(set, next)
		}
	}
	return set, nil
}

// newCPUSet sorts cpus and drops repetitions, in place.
func newCPUSet(cpus []int) CPUSet {
	slices.Sort(cpus)
	return slices.Compact(cpus)
}

// String returns s in the format that [ParseCPUSet] reads.
func (s CPUSet) String() string {
	var b strings.Builder
	for i := 0; i < len(s); {
		j := i
		for j+1 < len(s) && s[j+1] == s[j]+1 {
			j++
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(s[i]))
		if j > i {
			b.WriteByte('-')
			b.WriteString(strconv.Itoa(s[j]))
		}
		i = j + 1
	}
	return b.String()
}

// Contains reports whether cpu is in s.
func (s CPUSet) Contains(cpu int) bool {
	_, ok := slices.BinarySearch(s, cpu)
	return ok
}

// Intersect returns the CPUs that are in both s and t.
func (s CPUSet) Intersect(t CPUSet) CPUSet {
	var both CPUSet
	for _, c := range s {
		if t.Contains(c) {
			both = append(both, c)
		}
	}
	return both
}
