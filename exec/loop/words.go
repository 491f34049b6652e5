package loop

import (
	"fmt"
	"strings"
)

// enum is a type whose values are numbers from 0 with a name each.
type enum interface {
	~uint8
	fmt.Stringer
}

// word returns the name of x, one of n.
func word[E ~uint8](x E, n int, name func(E) string) string {
	if int(x) < n {
		return name(x)
	}
	return fmt.Sprintf("%T(%d)", x, uint8(x))
}

// parse returns which of n values is called name.
func parse[E enum](what, name string, n int) (E, error) {
	known := make([]string, n)
	for x := range E(n) {
		if known[x] = x.String(); strings.EqualFold(known[x], name) {
			return x, nil
		}
	}
	return 0, &UnknownWordError{What: what, Word: name, Known: known}
}

// UnknownWordError reports a word that names nothing.
type UnknownWordError struct {
	What  string // as in "loop scheme"
	Word  string
	Known []string
}

func (e *UnknownWordError) Error() string {
	return fmt.Sprintf("unknown %s %q; known: %s", e.What, e.Word, strings.Join(e.Known, ", "))
}
