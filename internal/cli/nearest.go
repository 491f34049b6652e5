package cli

import (
	"fmt"
	"slices"
	"strings"
)

// UnknownError reports an unknown word on the command line.
type UnknownError struct {
	What, Word string
	Known      []string
}

func (e *UnknownError) Error() string {
	if k := DidYouMean(e.Word, e.Known); k != "" {
		return fmt.Sprintf("unknown %s %q. %s", e.What, e.Word, k)
	}
	return fmt.Sprintf("unknown %s %q; known: %s", e.What, e.Word, strings.Join(slices.Sorted(slices.Values(e.Known)), ", "))
}

// OneOf returns a usage error unless args is a single word of known. The words are operations.
func OneOf(args, known []string) error {
	switch {
	case len(args) != 1:
		return Usage(fmt.Errorf("want one operation: %s", strings.Join(known, ", ")))
	case !slices.Contains(known, args[0]):
		return Usage(&UnknownError{"operation", args[0], known})
	}
	return nil
}

// nearest returns the known word that the user may have meant, or "". It is the one with the smallest distance,
// if that is small, or else the only one that begins with word.
func nearest(word string, known []string) string {
	word = strings.ToLower(word)
	best, least := "", min(max(1, len(word)/3), len(word)-1)+1
	begins := 0
	for _, k := range known {
		if d := distance(word, strings.ToLower(k)); d < least {
			best, least = k, d
		}
		if len(word) > 1 && strings.HasPrefix(k, word) {
			begins++
		}
	}
	if best == "" && begins == 1 {
		for _, k := range known {
			if strings.HasPrefix(k, word) {
				return k
			}
		}
	}
	return best
}

// DidYouMean returns the question whether the user meant a known word, or "" if none is near.
func DidYouMean(word string, known []string) string {
	if k := nearest(word, known); k != "" {
		return "Did you mean " + k + "?"
	}
	return ""
}

// distance returns the number of letters to insert, drop, replace or exchange with their neighbour to get from
// a to b.
//
// Reference: F. J. Damerau, CACM 7 (1964); this is the restricted distance.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	var before []int // the row before the last one
	last := make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := range x {
		row := make([]int, len(y)+1)
		row[0] = i + 1
		for j := range y {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(y)]
}
