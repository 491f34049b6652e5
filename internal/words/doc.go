// Package words gives the values of an enumeration their names.
package words

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Of is the names of the values of E, which count from 0.
type Of[E ~uint8 | ~uint32 | ~int] []string

// Name returns the name of e, or the name of its type with its number, as in "Kind(7)", if e has none.
func (w Of[E]) Name(e E) string {
	if i := uint64(e); i < uint64(len(w)) {
		return w[i]
	}
	return fmt.Sprintf("%s(%d)", reflect.TypeFor[E]().Name(), e)
}

// All returns the values.
func (w Of[E]) All() (all []E) {
	for i := range w {
		all = append(all, E(i))
	}
	return all
}

// Find returns the value with a name, in upper or lower case, and whether there is one.
func (w Of[E]) Find(name string) (e E, ok bool) {
	i := slices.IndexFunc(w, func(s string) bool { return strings.EqualFold(s, name) })
	return E(max(i, 0)), i >= 0
}
