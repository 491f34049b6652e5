package la

import (
	"fmt"
	"strings"
)

// nameOf returns names[i], or typ(i) if there is no such name.
func nameOf(names []string, i uint8, typ string) string {
	if int(i) < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%s(%d)", typ, i)
}

// parseName returns the index of name among names, in upper or lower case.
func parseName(names []string, name, what string) (int, error) {
	for i, n := range names {
		if strings.EqualFold(n, name) {
			return i, nil
		}
	}
	return 0, fmt.Errorf("la: unknown %s %q; known are %s", what, name, strings.Join(names, ", "))
}
