package dropin

import (
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"
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
