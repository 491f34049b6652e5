package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Problems collects everything that is wrong with a command line or a run, so that the user sees it all at
// once.
type Problems []error

// Note adds err, unless it is nil.
func (p *Problems) Note(err error) {
	if err != nil {
		*p = append(*p, err)
	}
}

// Within notes a *ListError unless low ≤ value ≤ high.
func (p *Problems) Within(flag string, value, low, high int) {
	if value < low || value > high {
		p.Note(&ListError{flag, strconv.Itoa(value), fmt.Sprintf("%d to %d", low, high)})
	}
}

// JoinLine joins errs into one error, nil if there are none. Its text is one line, with semicolons between the errors,
// since App wraps lines to the terminal.
func JoinLine(errs []error) error {
	if err := errors.Join(errs...); err != nil {
		return &lineError{err}
	}
	return nil
}

// lineError prints its error on one line.
type lineError struct{ err error }

func (e *lineError) Error() string { return strings.ReplaceAll(e.err.Error(), "\n", "; ") }

func (e *lineError) Unwrap() error { return e.err }
