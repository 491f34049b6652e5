package ops

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/tessera-la/tessera/blocked/file"
	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/cmd/labench/internal/record"
	"github.com/tessera-la/tessera/exec/monitor"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/mat"
)

// InWords describes an error, and its remedy if there is one.
func InWords(err error) (text, remedy string) {
	text = strings.TrimSpace(err.Error())
	for _, layer := range []string{"la: ", "sim: ", "cuda: "} { // users of labench do not know these packages
		text = strings.TrimPrefix(text, layer)
	}
	if text, remedy, known := matrixInWords(err, text); known {
		return text, remedy
	}
	if text, remedy, known := choiceInWords(err, text); known {
		return text, remedy
	}
	return fileInWords(err, text)
}

// matrixInWords describes an error that is the matrix's fault, or a wrong result. text is that of err.
func matrixInWords(err error, text string) (_, remedy string, known bool) {
	const noSolution = "A system with it has no solution, or many."
	const mend = "Mend the matrix: nothing can be computed with it."
	if npd, ok := errors.AsType[*la.NotPositiveDefiniteError](err); ok {
		return fmt.Sprintf("the matrix is not positive definite: its leading minor of order %d is not positive", npd.Minor),
			fmt.Sprintf("A Cholesky factorization exists of positive definite matrices only. Row and column %d "+
				"(counted from 1) are the first that spoil it.", npd.Minor), true
	}
	if single, ok := errors.AsType[*la.SingularError](err); ok {
		return "the " + strings.TrimPrefix(single.Error(), "la: "), noSolution, true
	}
	if over, ok := errors.AsType[*la.OverflowError](err); ok {
		return fmt.Sprintf("the element of the solution in row %d, column %d (counted from 1) overflows", over.Row+1, over.Col+1),
			"The matrix is small against the right-hand sides. Multiply it, or divide them, by a power of two.", true
	}
	if nan, ok := errors.AsType[*la.NonFiniteError](err); ok && !cli.HasType[*bench.InputError](err) {
		return fmt.Sprintf("the element in row %d, column %d (counted from 1) is infinite or NaN", nan.Row+1, nan.Col+1), mend, true
	}
	wrong, _ := errors.AsType[*bench.WrongError](err)
	switch {
	case cli.HasType[mat.Condition](err):
		return "the matrix has not full rank: a column depends on others", "Leave such columns out.", true
	case cli.HasType[*la.BreakdownError](err):
		return text, "Take --pivot partial, or --on-breakdown fallback, which does that by itself.", true
	case cli.HasType[*bench.InputError](err):
		return text, mend, true
	case cli.HasType[*bench.DiagonalError](err):
		return text, noSolution, true
	case wrong != nil && wrong.Growth:
		return text, "QR is stable for every matrix: labench qr, or labench solve --method qr.", true
	case wrong != nil && wrong.Overflow:
		return text, "Of some kinds of matrices, as huge, products overflow. If these should not, try other --versions " +
			"to find the one that is at fault, and report it.", true
	case wrong != nil:
		return text, "This should not happen. Try other --versions to find the one that is at fault, and report it.", true
	}
	return text, "", false
}

// choiceInWords describes an error of what was asked for. text is that of err.
func choiceInWords(err error, text string) (_, remedy string, known bool) {
	switch {
	case cli.HasType[*la.OptionsError](err) && !strings.Contains(text, "Target."):
		return text, "", true
	case cli.HasType[*la.OptionsError](err):
		return text, "What --processor and --units declare is the Target; labench list shows what versions ask for.", true
	case cli.HasType[*monitor.AddressError](err):
		return strings.TrimPrefix(text, "monitor: "), "The page has no password: it is served on this machine only, as with --monitor 127.0.0.1:0. " +
			"To see it from another one, forward the port by ssh -L.", true
	case cli.HasType[*record.NoTasksError](err):
		return text, "Take a larger problem, or cut it into tiles with --nb.", true
	case cli.HasType[*bench.MemoryError](err):
		e, _ := errors.AsType[*bench.MemoryError](err)
		remedy = "Take a smaller problem"
		if e.Tiles {
			remedy = "Take larger tiles (--nb), or a smaller problem"
		}
		if e.Double {
			remedy += ", or half the memory with --type f32"
		}
		if e.Checked {
			remedy += ", or none for the check with --verify=false"
		}
		return text, remedy + ".", true
	case cli.HasType[*versions.UnknownNameError](err):
		text = strings.ReplaceAll(text, "versions: unknown", "unknown")
		unknown, _ := errors.AsType[*versions.UnknownNameError](err)
		for _, x := range op.Absent() {
			if x.Name == unknown.Name {
				return text, fmt.Sprintf("%s is in other builds of labench: this one was %s. See labench --tags-info.", x.Name, x.Reason), true
			}
		}
		remedy = "See labench list for all versions, and why some cannot run."
		if k := cli.DidYouMean(unknown.Name, unknown.Known); k != "" {
			remedy = k + " " + remedy
		}
		return text, remedy, true
	case cli.HasType[*versions.NoVersionError](err):
		return text, "Name other versions with --versions, or fewer with --exclude; labench list shows them all.", true
	case cli.HasType[*cuda.UnavailableError](err) && strings.Contains(text, "without the tag"):
		return text, "On Linux, make build TAGS=cuda builds bin/labench with it.", true
	}
	return text, "", false
}

// fileInWords describes an error of a file. text is that of err.
func fileInWords(err error, text string) (_, remedy string) {
	switch {
	case cli.HasType[*file.FormatError](err) && strings.Contains(text, "no .npy file"):
		return text, "NumPy files end in .npy. With --distributed they are the only ones, and not compressed; without it Matrix Market files (.mtx) can be read, too."
	case cli.HasType[*file.FormatError](err):
		return text, "Matrix Market (.mtx) and NumPy (.npy) files can be read, either of them compressed with gzip (.gz), and an array of a .npz file: a.npz, or a.npz:weights."
	case errors.Is(err, syscall.EISDIR):
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			text = e.Path + " is a directory"
		}
		return text, "Name a file in it."
	case errors.Is(err, fs.ErrNotExist):
		return text, "Check the name of the file."
	case errors.Is(err, syscall.ENOTDIR):
		if e, ok := errors.AsType[*fs.PathError](err); ok && e.Op == "mkdir" {
			text = e.Path + " is a file, or in one"
		}
		return text, "Name a directory."
	}
	return text, ""
}
