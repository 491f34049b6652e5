// Package problems collects what is wrong with options, so that one error names everything.
package problems

import (
	"fmt"
	"strings"
)

// List is what is wrong with something, a line each. The zero value is nothing.
type List []string

// Add adds a problem.
func (l *List) Add(format string, args ...any) { *l = append(*l, fmt.Sprintf(format, args...)) }

// Check adds a problem unless ok.
func (l *List) Check(ok bool, format string, args ...any) {
	if !ok {
		l.Add(format, args...)
	}
}

// InvalidOptions returns the text of an error that lists all that is wrong with options of a package.
func InvalidOptions(pkg string, found []string) string {
	return pkg + ": invalid options: " + strings.Join(found, "; ")
}
