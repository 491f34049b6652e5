package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/tessera-la/tessera/exec/monitor"
	"github.com/tessera-la/tessera/internal/topo"
	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/versions"
)

// app is what the commands share: where they write. A test runs them with
// buffers in its place.
type app struct {
	out io.Writer // results: reports, tables, JSON
	err io.Writer // errors, warnings and the progress bar
	// each is for what only this process knows of several that were started together.
	each io.Writer

	agent    bool // it logs for programs
	attached bool // it is an agent of the process that has started it
	holding  sync.Once
	held     *heldWriter // what is told beside a report: see asides

	job    bool // an agent reads the errors: it breaks lines itself
	noPeak bool // do not measure the machine's peak with each run
	cores  int  // that the process may use; 0: as the machine has them
}

// newApp returns the app of a process.
func newApp() *app { return &app{out: os.Stdout, err: os.Stderr} }

// Exit codes of the process.
const (
	exitPassed      = 0
	exitFailed      = 1   // a wrong result, or an error
	exitUsage       = 2   // a command line that makes no sense
	exitNoDevice    = 3   // the device that was asked for is missing
	exitLost        = 4   // a rank of MPI was lost, and MPI ends with it
	exitInterrupted = 130 // by Ctrl-C, as shells have it
)

// run executes the command line args and returns the exit code of the
// process.
func (a *app) run(ctx context.Context, args []string) int {
	a.hush(args)
	cmd := a.root()
	cmd.SetArgs(append([]string{}, args...)) // never nil, which means the process's
	cmd, err := misspelt(cmd, args)
	if err == nil {
		cmd, err = cmd.ExecuteContextC(ctx)
	}
	if err == nil {
		return exitPassed
	}
	if is[*saidError](err) {
		return exitCode(err)
	}
	if ctx.Err() != nil {
		fmt.Fprintln(a.err, "labench: interrupted")
		return exitInterrupted
	}
	text, remedy := explain(err)
	if remedy == "" && is[*usageError](err) {
		remedy = "See " + cmd.CommandPath() + " --help."
	}
	if text = strings.TrimSpace(text + "\n" + remedy); a.job {
		fmt.Fprintln(a.err, "labench: "+text)
	} else {
		fprintWrapped(a.err, "labench: ", text)
	}
	return exitCode(err)
}

// misspelt returns an error if the command line names an unknown command, and the command to
// which that would belong. Otherwise the error would be about its flags.
func misspelt(root *cobra.Command, args []string) (*cobra.Command, error) {
	for cmd := root; len(args) > 0 && !strings.HasPrefix(args[0], "-") && len(cmd.Commands()) > 0; args = args[1:] {
		word := args[0]
		switch {
		case cmd == root && word == "help":
			continue // for the command that follows
		case cmd == root && (word == "completion" || strings.HasPrefix(word, "__complete")):
			return root, nil // cobra's
		}
		i := slices.IndexFunc(cmd.Commands(), func(c *cobra.Command) bool { return c.Name() == word })
		if i < 0 {
			what := "command"
			if cmd.Name() == "explain" {
				what = "operation"
			}
			return cmd, usage(&unknownError{what, word, names(cmd)})
		}
		cmd = cmd.Commands()[i]
	}
	return root, nil
}

// exitCode returns the exit code for an error: that of a command line that
// makes no sense also where only the engine knew, and that of a device that is
// not there.
func exitCode(err error) int {
	switch {
	case is[*usageError](err), is[*monitor.AddressError](err), is[*versions.UnknownNameError](err), is[*versions.ConfigError](err), is[*la.OptionsError](err):
		return exitUsage
	case is[*cuda.NoDeviceError](err):
		return exitNoDevice
	case is[*lostError](err):
		return exitLost
	}
	return exitFailed
}

// is reports whether err is, or wraps, an error of a type.
func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// warn writes a warning.
func (a *app) warn(text string) { fprintWrapped(a.err, "labench: warning: ", text) }

// object writes v as one line of JSON.
func (a *app) object(v any) error { return json.NewEncoder(a.out).Encode(v) }

// document writes v as one JSON document, with line breaks.
func (a *app) document(v any) error { return writeDocument(a.out, v) }

func writeDocument(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// warnCrowded warns of more workers than cores: that is allowed, and for
// arithmetic only costs.
func (a *app) warnCrowded(workers int) {
	if cores := cmp.Or(a.cores, topo.Detect().Workers()); workers > cores {
		a.warn(fmt.Sprintf("%s share %s: that shows what oversubscription costs, not what the machine can do",
			count(workers, "worker"), count(cores, "core")))
	}
}

// usage makes an error of the command line of err, unless it is nil.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return &usageError{err}
}

// usageError is an error of the command line.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }

func (e *usageError) Unwrap() error { return e.err }

// noArgs refuses arguments that are not flags.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fmt.Errorf("%s takes flags only, not %q", cmd.CommandPath(), args[0])
	if _, wrong := strconv.Atoi(args[0]); wrong == nil && cmd.Flags().Lookup("n") != nil {
		err = fmt.Errorf("%w. Did you mean -n %s?", err, args[0])
	}
	return usage(err)
}
