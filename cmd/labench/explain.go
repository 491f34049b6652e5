package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/tessera-la/tessera/blocked/file"
	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/exec/monitor"
	"github.com/tessera-la/tessera/kernels/builtin"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/mat"
)

// wrongError says that a result did not pass; the report has said the rest.
type wrongError struct {
	reason   string
	overflow bool // it holds infinities or NaN
	growth   bool // elements grew in an LU factorization, and that explains it
}

func (e *wrongError) Error() string { return "the result is wrong: " + e.reason }

// explain returns what is wrong in words, and what can be done about it.
func explain(err error) (text, remedy string) {
	var (
		npd     *la.NotPositiveDefiniteError
		single  *la.SingularError
		broken  *la.BreakdownError
		rank    mat.Condition
		nan     *la.NonFiniteError
		input   *bench.InputError
		memory  *bench.MemoryError
		format  *file.FormatError
		shape   *bench.ShapeError
		unknown *versions.UnknownNameError
		none    *versions.NoVersionError
		wrong   *wrongError
		options *la.OptionsError
		command *usageError
		address *monitor.AddressError
		noTasks *noTasksError
	)
	text = strings.TrimSpace(err.Error())
	switch {
	case errors.As(err, &npd):
		return fmt.Sprintf("the matrix is not positive definite: its leading minor of order %d is not positive", npd.Minor),
			fmt.Sprintf("A Cholesky factorization exists of positive definite matrices only. Row and column %d "+
				"(counted from 1) are the first that spoil it.", npd.Minor)
	case errors.As(err, &single):
		return fmt.Sprintf("the matrix is singular: column %d (counted from 1) depends on those before it", single.Column),
			"A system with it has no solution, or many."
	case errors.As(err, &rank):
		return "the matrix has not full rank: a column depends on others", "Leave such columns out."
	case errors.As(err, &broken):
		return strings.TrimPrefix(text, "la: "), "Take --pivot partial, or --on-breakdown fallback, which does that by itself."
	case errors.As(err, &input):
		return text, "Mend the matrix: nothing can be computed with it."
	case errors.As(err, &nan):
		return fmt.Sprintf("element (%d, %d), counted from 0, is infinite or NaN", nan.Row, nan.Col),
			"Mend the matrix: nothing can be computed with it."
	case errors.As(err, &options):
		return strings.TrimPrefix(text, "la: "), "What --processor and --units declare is the Target; labench list shows what versions ask for."
	case errors.As(err, &address):
		return strings.TrimPrefix(text, "monitor: "), "The page has no password: it is served on this machine only, as with --monitor 127.0.0.1:0. " +
			"To see it from another one, forward the port by ssh -L."
	case errors.As(err, &noTasks):
		return text, "Take a larger problem, or cut it into tiles with --nb."
	case errors.As(err, &memory):
		return text, "Take a smaller problem, or half the memory with --type f32, or none for the check with --verify=false."
	case errors.As(err, &format):
		return text, "Matrix Market (.mtx) and NumPy (.npy) files can be read, either of them compressed with gzip (.gz)."
	case errors.As(err, &shape):
		return text, ""
	case errors.As(err, &unknown):
		for _, x := range builtin.Absent() {
			if x.Name == unknown.Name {
				return text, fmt.Sprintf("%s is in other builds of labench: this one was %s. See labench --tags-info.", x.Name, x.Reason)
			}
		}
		return text, "labench list shows all versions, and why some cannot run."
	case errors.As(err, &none):
		return text, "Name other versions with --versions, or fewer with --exclude; labench list shows them all."
	case errors.As(err, &wrong):
		if wrong.growth {
			return text, "A factorization by labench qr is stable for every matrix."
		}
		if wrong.overflow {
			return text, "Of some kinds of matrices, as huge, products overflow. If these should not, try other --versions " +
				"to find the one that is at fault, and report it."
		}
		return text, "This should not happen. Try other --versions to find the one that is at fault, and report it."
	case errors.Is(err, fs.ErrNotExist):
		return text, "Check the name of the file."
	case errors.As(err, &command):
		return text, "See labench --help, and labench COMMAND --help."
	}
	return text, ""
}
