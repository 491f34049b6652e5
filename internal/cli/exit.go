package cli

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
)

// Exit codes of the process.
const (
	ExitPassed      = 0
	ExitFailed      = 1   // a wrong result, or an error
	ExitUsage       = 2   // an invalid command line
	ExitNoDevice    = 3   // the device that was asked for is missing
	ExitLost        = 4   // a rank of MPI was lost, which ends the MPI job
	ExitInterrupted = 130 // by Ctrl-C, the code that shells use
)

// Usage wraps err as a *UsageError. It returns nil if err is nil.
func Usage(err error) error {
	if err == nil {
		return nil
	}
	return &UsageError{err}
}

// UsageError is an error of the command line.
type UsageError struct{ err error }

func (e *UsageError) Error() string { return e.err.Error() }

func (e *UsageError) Unwrap() error { return e.err }

// OneArg returns the check of a command that takes one argument. Its error says want.
func OneArg(want string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return Usage(errors.New(want))
		}
		return nil
	}
}

// NoArgs refuses arguments that are not flags.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fmt.Errorf("%s takes flags only, not %q", cmd.CommandPath(), args[0])
	if _, parseErr := strconv.Atoi(args[0]); parseErr == nil && cmd.Flags().Lookup("n") != nil {
		err = fmt.Errorf("%w. Did you mean -n %s?", err, args[0])
	}
	return Usage(err)
}

// HasType reports whether err, or an error that it wraps, has the type E.
func HasType[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
