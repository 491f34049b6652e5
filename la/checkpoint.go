package la

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/file"
	"github.com/tessera-la/tessera/internal/atomicfile"
)

// Checkpoint keeps the state of a long factorization in a directory, so that it
// can go on where it was after the program, or the machine, has died.
//
// After every so many panels all tasks are waited for and the state is written:
// to a new file, with checksums, flushed to the device and renamed, so that a
// file is whole or not there. The two latest states are kept until the
// factorization ends well, and are then removed. The next factorization of the
// same matrix with the same directory goes on from the latest state that is
// whole, with the state's tile size. Where results do not depend on what was
// measured (Options.Deterministic, or one version in Options.Only), it has the
// same bits as one that was not interrupted.
type Checkpoint struct {
	// Dir is the directory; it is made if it does not exist. Factorizations of
	// different matrices want different ones.
	Dir string
	// Every is the number of panels between two states; 0 means an eighth of
	// them, at least one.
	Every int
	// Resume has the factorization fail with a *CheckpointError if there is no state
	// to go on from.
	Resume bool
}

// CheckpointError reports a checkpoint that cannot be written, or from which the
// factorization cannot go on. What is in the directory is left as it is.
type CheckpointError struct {
	Path   string
	Reason string
	Err    error // what went wrong underneath, or nil
}

func (e *CheckpointError) Error() string {
	msg := "la: checkpoint " + e.Path + ": " + e.Reason
	if e.Err != nil {
		msg += ": " + e.Err.Error()
	}
	return msg
}

// Unwrap returns the cause.
func (e *CheckpointError) Unwrap() error { return e.Err }

// How the names of files end: of states; then of what is being written, or lent to nodes.
const stateSuffix, unfinishedSuffix, lentSuffix = ".state", ".tmp", ".lent"

// validate reports a checkpoint that makes no sense.
func (c *Checkpoint) validate() error {
	switch {
	case c.Dir == "":
		return &CheckpointError{Path: `""`, Reason: "Dir is empty"}
	case c.Every < 0:
		return &CheckpointError{Path: c.Dir, Reason: fmt.Sprintf("Every is %d, want at least 0", c.Every)}
	}
	return nil
}

// every returns the number of panels between two states, of so many panels.
func (c *Checkpoint) every(panels int) int {
	if c.Every > 0 {
		return c.Every
	}
	return max(1, panels/8)
}

// path returns the file of the state before step.
func (c *Checkpoint) path(op string, step int) string {
	return filepath.Join(c.Dir, fmt.Sprintf("%s-%08d%s", op, step, stateSuffix))
}

// files returns those of states of op with the suffix, the latest first.
func (c *Checkpoint) files(op, suffix string) (paths []string, err error) {
	entries, err := os.ReadDir(c.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, &CheckpointError{c.Dir, "cannot be read", err}
	}
	for _, e := range slices.Backward(entries) { // they are sorted
		if strings.HasPrefix(e.Name(), op+"-") && strings.Contains(e.Name(), stateSuffix) && strings.HasSuffix(e.Name(), suffix) {
			paths = append(paths, filepath.Join(c.Dir, e.Name()))
		}
	}
	return paths, nil
}

// states returns the files of states of op, the latest first. It also removes
// files that were being written, or lent, when the program died.
func (c *Checkpoint) states(op string) ([]string, error) {
	unfinished, err := c.files(op, unfinishedSuffix)
	if err != nil {
		return nil, err
	}
	lent, err := c.files(op, lentSuffix)
	if err != nil {
		return nil, err
	}
	ours := func(path string) bool { return strings.Contains(filepath.Base(path), lentBy()) }
	for _, path := range append(unfinished, slices.DeleteFunc(lent, ours)...) {
		os.Remove(path)
	}
	return c.files(op, stateSuffix)
}

// lentBy is a part of the names of files that this process lends: no number of a process, which
// is the same after each restart of a container.
var lentBy = sync.OnceValue(func() string { return fmt.Sprintf(".%x-", rand.Uint64()) })

// lend gives the file of a state another name, under which nodes read it, and may read it again
// when the state is gone. It is to be called back then. Where no file can have two names, so that
// link fails, it is copied.
func lend(path string, link func(from, to string) error) (name string, back func(), err error) {
	to, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+lentBy()+"*"+lentSuffix)
	if err != nil {
		return "", nil, err
	}
	name, back = to.Name(), func() { os.Remove(to.Name()) }
	to.Close()
	back() // a link wants a name that is free
	if link(path, name) == nil {
		return name, back, nil
	}
	from, err := os.Open(path)
	if err != nil {
		return "", nil, err
	}
	defer from.Close()
	err = atomicfile.Write(name, 0o666, func(to *os.File) error { _, err := io.Copy(to, from); return err })
	return name, back, err
}

// load returns the latest state of op that is whole, nil if there are none.
func load[T Element](c *Checkpoint, op string) (*file.State[T], string, error) {
	paths, err := c.states(op)
	if err != nil {
		return nil, "", err
	}
	var first error
	for _, path := range paths {
		s, err := loadFile[T](path)
		if err == nil && s.Op != op {
			err = &file.StateError{Reason: "it is one of " + s.Op}
		}
		if err == nil {
			return s, path, nil
		}
		if first == nil {
			first = &CheckpointError{path, "cannot go on from it, nor from an older one", err}
		}
	}
	if first == nil {
		first = c.none(op)
	}
	return nil, "", first
}

// none returns the error that there is no state of op, if one is wanted.
func (c *Checkpoint) none(op string) error {
	if !c.Resume {
		return nil
	}
	return &CheckpointError{Path: c.Dir, Reason: "there is no state of " + op + " to go on from"}
}

func loadFile[T Element](path string) (*file.State[T], error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return file.ReadState[T](f)
}

// save writes a state, of a distributed matrix by its nodes, and removes all but the two latest.
func save[T Element](ctx context.Context, e *Engine, c *Checkpoint, s *file.State[T]) error {
	path := c.path(s.Op, s.Step)
	err := atomicfile.Write(path, 0o666, func(f *os.File) error {
		if s.Matrix.IsDistributed() {
			return file.WriteStateTiles(f, s, onNodes[T](ctx, e))
		}
		w := bufio.NewWriterSize(f, 1<<20)
		return errors.Join(file.WriteState(w, s), w.Flush())
	})
	if err != nil {
		return &CheckpointError{path, "cannot be written", err}
	}
	paths, err := c.states(s.Op)
	if err != nil {
		return err
	}
	for _, old := range paths[min(2, len(paths)):] {
		os.Remove(old)
	}
	return nil
}

// onNodes returns what executes tasks that read or write files.
func onNodes[T Element](ctx context.Context, e *Engine) func(func(p *blocked.Program[T]) error) error {
	return func(submit func(p *blocked.Program[T]) error) error { return run(ctx, e, submit) }
}

// stepwise is a factorization by steps between which its state can be kept.
type stepwise[T Element] struct {
	op   string
	kind blocked.Kind
	// room makes what there is beside the matrix, if s does not have it, or says that what s
	// has does not go with what is wanted.
	room func(s *file.State[T]) error
	// steps submits some of them.
	steps func(p *blocked.Program[T], s *file.State[T], from, to int) error
}

// checkpointed factors a matrix, which tile copies into tiles of nb×nb or, if nb is 0,
// of the usual size: from the latest state that is whole on, and keeps the state after
// every few steps. At the end what was kept is removed. resumed is how many panels were done
// before.
func checkpointed[T Element](ctx context.Context, e *Engine, c *Checkpoint, w stepwise[T], tile func(nb int) (*blocked.Matrix[T], blocked.Stats),
) (s *file.State[T], stats blocked.Stats, resumed int, err error) {
	if err := e.ready(ctx); err != nil {
		return nil, stats, 0, err
	}
	if s, stats, err = resume(c, w, tile); err != nil {
		return nil, stats, 0, err
	}
	resumed = s.Step
	return s, stats, resumed, goOn(ctx, e, c, w, s)
}

// goOn takes the steps that are left, and keeps states.
func goOn[T Element](ctx context.Context, e *Engine, c *Checkpoint, w stepwise[T], s *file.State[T]) error {
	if err := os.MkdirAll(c.Dir, 0o777); err != nil {
		return &CheckpointError{c.Dir, "cannot be made", err}
	}
	panels := min(s.Matrix.Tiles())
	every := c.every(panels)
	for s.Step < panels {
		to := min(s.Step+every, panels)
		if err := run(ctx, e, func(p *blocked.Program[T]) error { return w.steps(p, s, s.Step, to) }); err != nil {
			return err
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if s.Step = to; to < panels {
			if err := save(ctx, e, c, s); err != nil {
				return err
			}
		}
	}
	paths, err := c.states(s.Op)
	for _, p := range paths {
		os.Remove(p)
	}
	return err
}

// resume returns the latest state that is whole, or, if there is none, that of the
// matrix that tile copies, before the first step.
func resume[T Element](c *Checkpoint, w stepwise[T], tile func(nb int) (*blocked.Matrix[T], blocked.Stats)) (*file.State[T], blocked.Stats, error) {
	if err := c.validate(); err != nil {
		return nil, blocked.Stats{}, err
	}
	s, path, err := load[T](c, w.op)
	if err != nil {
		return nil, blocked.Stats{}, err
	}
	nb := 0
	if s != nil {
		nb = s.Matrix.NB()
	}
	a, stats := tile(nb)
	if stats.NonFinite {
		return nil, stats, &NonFiniteError{Row: stats.Row, Col: stats.Col}
	}
	input := file.Fingerprint(a)
	switch {
	case s == nil:
		s = &file.State[T]{Op: w.op, Input: input, Matrix: a}
	case s.Input != input || s.Matrix.Kind() != w.kind:
		return nil, stats, &CheckpointError{Path: path, Reason: "it is the state of another matrix"}
	}
	if err := w.room(s); err != nil {
		return nil, stats, &CheckpointError{path, "the factorization cannot go on from it", err}
	}
	return s, stats, nil
}

// checkpointedInPlace is checkpointed in the tiles of a, which holds the matrix that is factored also if
// the factorization goes on from a state. Then a has the state's tile size. A matrix near the ends of
// the range is divided by two to the power exp, and so are its states.
func checkpointedInPlace[T Element](ctx context.Context, e *Engine, c *Checkpoint, w stepwise[T], a *blocked.Matrix[T]) (s *file.State[T], stats blocked.Stats, exp, resumed int, err error) {
	if err := c.validate(); err != nil {
		return nil, stats, 0, 0, err
	}
	r, err := measured(ctx, e, a)
	if err == nil {
		exp, r, err = moderateInPlace(ctx, e, a, r)
	}
	if err != nil {
		return nil, stats, 0, 0, err
	}
	s, err = restore(ctx, e, c, w, a)
	if err != nil {
		if undone := rescale(ctx, e, a, exp, nil); undone != nil {
			err = errors.Join(err, undone)
		}
		return nil, stats, 0, 0, err
	}
	resumed = s.Step
	return s, r.stats, exp, resumed, goOn(ctx, e, c, w, s)
}

// restore overwrites a with the latest state that is whole, and returns it; if there is none,
// that before the first step. What is lost with a node is made again from the file, which
// therefore is there until a distributed a is closed.
func restore[T Element](ctx context.Context, e *Engine, c *Checkpoint, w stepwise[T], a *blocked.Matrix[T]) (*file.State[T], error) {
	input := file.Fingerprint(a)
	paths, err := c.states(w.op)
	if err != nil {
		return nil, err
	}
	var first error
	for _, path := range paths {
		s, err := file.ReadStateHead[T](path)
		if err == nil && s.Op != w.op {
			err = &file.StateError{Reason: "it is one of " + s.Op}
		}
		if err == nil {
			if s.Input != input || s.Matrix.Kind() != a.Kind() {
				return nil, &CheckpointError{Path: path, Reason: "it is the state of another matrix, or of another tile size"}
			}
			s.Matrix = a
			if err := w.room(s); err != nil {
				return nil, &CheckpointError{path, "the factorization cannot go on from it", err}
			}
			if s.Rotations != nil {
				s.Rotations, err = blocked.RotationsFor(a, s.Rotations.Options())
			}
		}
		from := path
		if err == nil && a.IsDistributed() {
			var back func()
			if from, back, err = lend(path, os.Link); err == nil {
				a.AfterClose(back)
			}
		}
		if err == nil {
			err = file.ReadStateTiles(from, a, s.Rotations, onNodes[T](ctx, e))
		}
		if err == nil {
			return s, nil
		}
		if first == nil {
			first = &CheckpointError{path, "cannot go on from it, nor from an older one", err}
		}
		if damaged := (*file.StateError)(nil); !errors.As(err, &damaged) {
			break
		}
	}
	if first == nil {
		first = c.none(w.op)
	}
	s := &file.State[T]{Op: w.op, Input: input, Matrix: a}
	if first == nil {
		first = w.room(s)
	}
	return s, first
}
