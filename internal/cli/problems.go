package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Problems is all that is wrong with a command line, or a run.
type Problems []error

// Note adds err, unless it is nil.
func (p *Problems) Note(err error) {
	if err != nil {
		*p = append(*p, err)
	}
}

// Within notes a number that is not in a range.
func (p *Problems) Within(flag string, value, low, high int) {
	if value < low || value > high {
		p.Note(&ListError{flag, strconv.Itoa(value), fmt.Sprintf("%d to %d", low, high)})
	}
}

// JoinLine is errors.Join with semicolons for line breaks; labench breaks lines
// by itself.
func JoinLine(errs []error) error {
	err := errors.Join(errs...)
	if err == nil {
		return nil
	}
	return &lineError{err}
}

type lineError struct{ err error }

func (e *lineError) Error() string { return strings.ReplaceAll(e.err.Error(), "\n", "; ") }

func (e *lineError) Unwrap() error { return e.err }
