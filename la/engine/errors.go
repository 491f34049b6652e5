package engine

import (
	"errors"

	"github.com/tessera-la/tessera/internal/problems"
	"github.com/tessera-la/tessera/kernels"
)

// Error is the type of the constants with which misused methods panic.
type Error string

func (e Error) Error() string { return string(e) }

// ErrNoRuntime is the panic of [Engine.Runtime] for a nil engine.
const ErrNoRuntime Error = "la: a nil engine has no runtime: make an engine with NewEngine"

// OptionsError lists everything that is wrong with options.
type OptionsError struct{ Problems []string }

func (e *OptionsError) Error() string { return problems.InvalidOptions("la", e.Problems) }

// ErrorOf returns an *OptionsError, or nil if there is no problem.
func ErrorOf(found problems.List) error {
	if found == nil {
		return nil
	}
	return &OptionsError{Problems: found}
}

// unwrapped returns the error about the matrix without the task that found it, or err.
func unwrapped(err error) error {
	if npd, ok := errors.AsType[*kernels.NotPositiveDefiniteError](err); ok {
		return npd
	}
	return err
}
