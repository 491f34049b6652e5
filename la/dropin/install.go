package dropin

import (
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// Error is the type of the constants that Install and Restore return.
type Error string

func (e Error) Error() string { return string(e) }

const (
	// ErrInstalled is what Install returns if gonum's blas64 already has what
	// Install puts there.
	ErrInstalled Error = "dropin: already installed"
	// ErrNotInstalled is what Restore returns if blas64 has no BLAS that
	// Install has put there.
	ErrNotInstalled Error = "dropin: not installed"
)

// FailedError is the panic of a routine whose computation has broken down in
// the middle, so that its result is undefined: a version of an operation has
// failed or panicked, or the engine given to [InstallWith] was closed. BLAS has
// no error to return.
type FailedError struct {
	Routine string // as in "Dgemm"
	Err     error  // an *exec.TaskError, or exec.ErrClosed
}

func (e *FailedError) Error() string { return "dropin: " + e.Routine + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *FailedError) Unwrap() error { return e.Err }

// Options configures a [BLAS] and a [LAPACK]. The zero value is what Install
// uses.
type Options struct {
	// Engine computes; it must stay open until Restore. Nil means an engine
	// with the options la.Options{Static: true}, that is one worker for each
	// core, made by Install and closed by Restore.
	Engine *la.Engine
	// Small is the largest product of the dimensions, the number of
	// multiplications, of a problem that is left to gonum's own routine; 0
	// means a default by routine, -1 that nothing is too small.
	Small int
	// LAPACK is what Restore is to register with lapack64, which unlike blas64
	// does not tell what it has. Nil means gonum's own.
	LAPACK lapack.Float64
}

// Install registers a [BLAS] with gonum's blas64 and blas32 and a [LAPACK]
// with its lapack64, on an engine of their own. It returns ErrInstalled if
// that has been done already, or an error of la.NewEngine; then nothing has
// changed.
func Install() error { return InstallWith(Options{}) }

// InstallWith is Install with options.
func InstallWith(opt Options) error {
	if installed() != nil {
		return ErrInstalled
	}
	own := opt.Engine == nil
	if own {
		e, err := la.NewEngine(la.Options{Static: true})
		if err != nil {
			return err
		}
		opt.Engine = e
	}
	c := newCore(opt)
	c.own, c.former64, c.former32 = own, blas64.Implementation(), blas32.Implementation()
	b := BLAS{core: c}
	blas64.Use(b)
	blas32.Use(b)
	lapack64.Use(LAPACK{blas: b})
	return nil
}

// Restore registers with gonum again what it had before Install, waits for
// calls under way, and closes the engine that Install has made. It returns
// ErrNotInstalled if there is nothing to restore; that is so, too, if somebody
// else has registered another BLAS since.
func Restore() error {
	c := installed()
	if c == nil {
		return ErrNotInstalled
	}
	blas64.Use(c.former64)
	blas32.Use(c.former32)
	if c.opt.LAPACK != nil {
		lapack64.Use(c.opt.LAPACK)
	} else {
		lapack64.Use(gonum.Implementation{})
	}
	return c.close()
}

// installed returns the core of what Install has registered, or nil.
func installed() *core {
	if b, ok := blas64.Implementation().(BLAS); ok && b.core != nil && b.core.former64 != nil {
		return b.core
	}
	return nil
}
