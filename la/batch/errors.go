package batch

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tessera-la/tessera/la"
)

// Error says which problems of a batch have no result. The others have.
type Error struct {
	Failed []Failure // by ascending Index
}

// Failure says why a problem has no result: its Err is a *la.NotPositiveDefiniteError or a *la.SingularError.
type Failure struct {
	Index int
	Err   error
}

// Error returns how many have failed, and why the first did.
func (e *Error) Error() string {
	first := e.Failed[0]
	if len(e.Failed) == 1 {
		return fmt.Sprintf("batch: problem %d: %s", first.Index, strings.TrimPrefix(first.Err.Error(), "la: "))
	}
	return fmt.Sprintf("batch: %d problems failed; problem %d: %s", len(e.Failed), first.Index,
		strings.TrimPrefix(first.Err.Error(), "la: "))
}

// Unwrap returns the error of the first problem that failed.
func (e *Error) Unwrap() error { return e.Failed[0].Err }

// Of returns the error of problem k, nil if it has a result.
func (e *Error) Of(k int) error {
	i, found := slices.BinarySearchFunc(e.Failed, k, func(f Failure, k int) int { return f.Index - k })
	if !found {
		return nil
	}
	return e.Failed[i].Err
}

// notDefinite and singular make an error of LAPACK's info.
func notDefinite(info int) error { return &la.NotPositiveDefiniteError{Minor: info} }
func singular(info int) error    { return &la.SingularError{Column: info} }
