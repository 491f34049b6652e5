package node

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// hostsMost is the largest number of nodes in a list.
const hostsMost = 100_000

// hostlist expands a host list of Slurm, such as rack[0-1]n[08-10,12],login.
func hostlist(list string) (all []string, err error) {
	bad := func() ([]string, error) { return nil, fmt.Errorf("%.100q is no list of nodes", list) }
	names := []string{""} // names for the part of the item read so far
	for rest := list; ; {
		i := strings.IndexAny(rest, ",[")
		if i < 0 {
			i = len(rest)
		}
		if strings.ContainsRune(rest[:i], ']') {
			return bad()
		}
		for k := range names {
			names[k] += rest[:i]
		}
		if i == len(rest) || rest[i] == ',' {
			if slices.Contains(names, "") && list != "" {
				return bad()
			}
			if all = append(all, names...); len(all) > hostsMost {
				return bad()
			}
			if i == len(rest) {
				break
			}
			names, rest = []string{""}, rest[i+1:]
			continue
		}
		ranges, after, ok := strings.Cut(rest[i+1:], "]")
		if !ok {
			return bad()
		}
		var longer []string
		for _, r := range strings.Split(ranges, ",") {
			numbers, ok := numbersOf(r)
			if !ok || len(names)*len(numbers) > hostsMost {
				return bad()
			}
			for _, n := range names {
				for _, x := range numbers {
					longer = append(longer, n+x)
				}
			}
			if len(longer) > hostsMost {
				return bad()
			}
		}
		names, rest = longer, after
	}
	if list == "" {
		return nil, nil
	}
	return all, nil
}

// numbersOf expands a range such as 08-10. It keeps leading zeros.
func numbersOf(r string) (all []string, ok bool) {
	first, last, isRange := strings.Cut(r, "-")
	if !isRange {
		last = first
	}
	lo, bad := strconv.ParseUint(first, 10, 31)
	hi, worse := strconv.ParseUint(last, 10, 31)
	if bad != nil || worse != nil || hi < lo || hi-lo >= hostsMost {
		return nil, false
	}
	for n := lo; n <= hi; n++ {
		all = append(all, fmt.Sprintf("%0*d", len(first), n))
	}
	return all, true
}
