package la

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/file"
	"github.com/tessera-la/tessera/blocked/qr"
	"github.com/tessera-la/tessera/internal/atomicfile"
	"github.com/tessera-la/tessera/la/engine"
)

// Checkpoint is a [CallOption] of Factorize of [Cholesky], [LU] and [QR]. It keeps the state of a long factorization in
// a directory, so that the factorization can resume after the program or the machine has crashed:
//
//	var resumed int
//	err := lu.Factorize(a, la.WithContext(ctx), la.Checkpoint{Dir: "states", Resumed: &resumed})
//
//	panels ─► wait for all tasks ─► write OP-STEP.state ─► panels ─► … ─► remove the states
//
// A state is written atomically: to a new file with checksums, which is flushed to the device and
// then renamed. The two latest states stay until the factorization succeeds. The next
// factorization of the same matrix with the same directory resumes from the latest intact state,
// in the state's tile size. It has the same bits as an uninterrupted one if results do not depend
// on measured times (Options.Deterministic, or one version in Options.Only).
type Checkpoint struct {
	// Dir is the directory; the factorization makes it if it does not exist. Each matrix needs a
	// directory of its own.
	Dir string
	// Every is the number of panels between two states; 0 means an eighth of all panels, at least
	// one.
	Every int
	// Resume makes the factorization fail with a *CheckpointError if there is no state to resume
	// from.
	Resume bool
	// Resumed, if not nil, is set to the number of panels that an earlier call did: 0 if there was no state to resume
	// from.
	Resumed *int
}

func (Checkpoint) callOption() {}

// resumedAt sets Resumed.
func (c *Checkpoint) resumedAt(step int) {
	if c.Resumed != nil {
		*c.Resumed = step
	}
}

// CheckpointError reports a checkpoint that cannot be written, or from which the factorization
// cannot resume. The files in the directory stay as they are.
type CheckpointError struct {
	Path   string
	Reason string
	Err    error // the cause, or nil
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

// The ends of file names: of a state, of a state that is being written, and of a second name for
// the state from which nodes read.
const stateSuffix, unfinishedSuffix, linkSuffix = ".state", ".tmp", ".lent"

// validate returns a *CheckpointError if a field is out of range.
func (c *Checkpoint) validate() error {
	switch {
	case c.Dir == "":
		return &CheckpointError{Path: `""`, Reason: "Dir is empty"}
	case c.Every < 0:
		return &CheckpointError{Path: c.Dir, Reason: fmt.Sprintf("Every is %d, want at least 0", c.Every)}
	}
	return nil
}

// every returns the number of panels between two states of a factorization with that many panels.
func (c *Checkpoint) every(panels int) int {
	if c.Every > 0 {
		return c.Every
	}
	return max(1, panels/8)
}

// path returns the path of an algorithm's state before step.
func (c *Checkpoint) path(algorithm file.Algorithm, step int) string {
	return filepath.Join(c.Dir, fmt.Sprintf("%s-%08d%s", algorithm, step, stateSuffix))
}

// files returns the paths of an algorithm's states that end in suffix, the latest first.
func (c *Checkpoint) files(algorithm file.Algorithm, suffix string) (paths []string, err error) {
	entries, err := os.ReadDir(c.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, &CheckpointError{c.Dir, "cannot be read", err}
	}
	for _, e := range slices.Backward(entries) { // they are sorted
		name := e.Name()
		if strings.HasPrefix(name, algorithm.String()+"-") && strings.Contains(name, stateSuffix) && strings.HasSuffix(name, suffix) {
			paths = append(paths, filepath.Join(c.Dir, name))
		}
	}
	return paths, nil
}

// states returns the paths of an algorithm's states, the latest first. It removes unfinished files and
// links that a crashed process has left.
func (c *Checkpoint) states(algorithm file.Algorithm) ([]string, error) {
	unfinished, err := c.files(algorithm, unfinishedSuffix)
	if err != nil {
		return nil, err
	}
	lent, err := c.files(algorithm, linkSuffix)
	if err != nil {
		return nil, err
	}
	ours := func(path string) bool { return strings.Contains(filepath.Base(path), processTag()) }
	for _, path := range append(unfinished, slices.DeleteFunc(lent, ours)...) {
		os.Remove(path)
	}
	return c.files(algorithm, stateSuffix)
}

// processTag marks the links of this process. It is random because a process number may be the
// same after each restart of a container.
var processTag = sync.OnceValue(func() string { return fmt.Sprintf(".%x-", rand.Uint64()) })

// load returns the latest intact state of an algorithm and its path, nil if there is none.
func load[T Element](c *Checkpoint, algorithm file.Algorithm) (*file.State[T], string, error) {
	paths, err := c.states(algorithm)
	if err != nil {
		return nil, "", err
	}
	var first error
	for _, path := range paths {
		s, err := loadFile[T](path)
		if err == nil && s.Algorithm != algorithm {
			err = &file.StateError{Reason: "it is one of " + s.Algorithm.String()}
		}
		if err == nil {
			return s, path, nil
		}
		if first == nil {
			first = &CheckpointError{path, "cannot go on from it, nor from an older one", err}
		}
	}
	if first == nil {
		first = c.missingState(algorithm)
	}
	return nil, "", first
}

// missingState returns the error of a factorization that must resume and finds no state of the algorithm.
func (c *Checkpoint) missingState(algorithm file.Algorithm) error {
	if !c.Resume {
		return nil
	}
	return &CheckpointError{Path: c.Dir, Reason: "there is no state of " + algorithm.String() + " to go on from"}
}

func loadFile[T Element](path string) (*file.State[T], error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return file.ReadState[T](f)
}

// save writes a state and removes all but the two latest. Nodes write the tiles of a distributed
// matrix.
func save[T Element](ctx context.Context, e *Engine, c *Checkpoint, s *file.State[T]) error {
	path := c.path(s.Algorithm, s.Step)
	err := atomicfile.Write(path, 0o666, func(f *os.File) error {
		if s.Matrix.IsDistributed() {
			return file.WriteStateTiles(f, s, runner[T](ctx, e))
		}
		w := bufio.NewWriterSize(f, 1<<20)
		return errors.Join(file.WriteState(w, s), w.Flush())
	})
	if err != nil {
		return &CheckpointError{path, "cannot be written", err}
	}
	paths, err := c.states(s.Algorithm)
	if err != nil {
		return err
	}
	for _, old := range paths[min(2, len(paths)):] {
		os.Remove(old)
	}
	return nil
}

// runner returns Run for package file, which submits tasks that read or write files.
func runner[T Element](ctx context.Context, e *Engine) func(func(p *blocked.Program[T]) error) error {
	return func(submit func(p *blocked.Program[T]) error) error { return engine.Run(ctx, e, submit) }
}

// stepwise is a factorization by steps, each of one panel, between which its state can be kept.
type stepwise[T Element] struct {
	algorithm file.Algorithm // names the files of its states
	kind      blocked.Kind
	tileSize  func() int // of a factorization that does not resume
	// prepare makes the pivots or rotations that s lacks. The error says that those that s has do
	// not fit the options.
	prepare func(s *file.State[T]) error
	// submit submits the steps from to to−1.
	submit func(p *blocked.Program[T], s *file.State[T], from, to int) error
}

// outcome is a factorization that was done by steps.
type outcome[T Element] struct {
	state *file.State[T]
	stats blocked.Stats // of the matrix that was factored
	exp   int           // it is A divided by two to this power
}

// checkpointed factors a copy of a. It resumes from the latest intact state, in the state's tile
// size, and keeps the state after every few steps. At the end it removes the states.
func checkpointed[T Element](ctx context.Context, e *Engine, c *Checkpoint, w stepwise[T], a Source[T],
) (done outcome[T], err error) {
	c.resumedAt(0)
	if err := e.Ready(ctx); err != nil {
		return done, err
	}
	if done, err = resume(e, c, w, a); err != nil {
		return outcome[T]{}, err
	}
	c.resumedAt(done.state.Step)
	return done, finishSteps(ctx, e, c, w, done.state)
}

// finishSteps does the remaining steps and keeps states.
func finishSteps[T Element](ctx context.Context, e *Engine, c *Checkpoint, w stepwise[T], s *file.State[T]) error {
	if err := os.MkdirAll(c.Dir, 0o777); err != nil {
		return &CheckpointError{c.Dir, "cannot be made", err}
	}
	panels := min(s.Matrix.Tiles())
	every := c.every(panels)
	for s.Step < panels {
		to := min(s.Step+every, panels)
		err := engine.Run(ctx, e, func(p *blocked.Program[T]) error { return w.submit(p, s, s.Step, to) })
		if err != nil {
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
	paths, err := c.states(s.Algorithm)
	for _, p := range paths {
		os.Remove(p)
	}
	return err
}

// resume returns the latest intact state or, if there is none, the state of a copy of a before
// the first step. It copies a in either case, as the copy's fingerprint tells whether the state
// is a's.
func resume[T Element](e *Engine, c *Checkpoint, w stepwise[T], a Source[T]) (done outcome[T], err error) {
	if err := c.validate(); err != nil {
		return done, err
	}
	s, path, err := load[T](c, w.algorithm)
	if err != nil {
		return done, err
	}
	nb := 0
	if s != nil {
		nb = s.Matrix.NB()
	} else {
		nb = w.tileSize()
	}
	copied, stats := blocked.From(a, w.kind, nb, measuring(e))
	done.stats, done.exp = scaleCopy(e, copied, stats)
	if stats.NonFinite {
		return done, &NonFiniteError{Row: stats.Row, Col: stats.Col}
	}
	input := file.Fingerprint(copied)
	switch {
	case s == nil:
		s = &file.State[T]{Algorithm: w.algorithm, Input: input, Matrix: copied}
	case s.Input != input || s.Matrix.Kind() != w.kind:
		return done, &CheckpointError{Path: path, Reason: "it is the state of another matrix"}
	}
	if err := w.prepare(s); err != nil {
		return done, &CheckpointError{path, "the factorization cannot go on from it", err}
	}
	done.state = s
	return done, nil
}

// checkpointedInPlace is checkpointed in the tiles of a. a holds the matrix also if the
// factorization resumes, in the tile size of the state. Its states are of a after scaleInPlace.
func checkpointedInPlace[T Element](ctx context.Context, e *Engine, c *Checkpoint, w stepwise[T], a *blocked.Matrix[T],
) (done outcome[T], err error) {
	c.resumedAt(0)
	if err := c.validate(); err != nil {
		return done, err
	}
	r, exp, err := scaleInPlace(ctx, e, a)
	if err != nil {
		return done, err
	}
	s, err := restore(ctx, e, c, w, a)
	if err != nil {
		if undone := rescale(ctx, e, a, exp, nil); undone != nil {
			err = errors.Join(err, undone)
		}
		return done, err
	}
	c.resumedAt(s.Step)
	return outcome[T]{s, r.stats, exp}, finishSteps(ctx, e, c, w, s)
}

// restore overwrites a with the latest intact state and returns that; if there is none, it returns
// the state of a before the first step. The file stays, under a second name, until a distributed a
// is closed: tiles of a lost node are read from it again.
func restore[T Element](ctx context.Context, e *Engine, c *Checkpoint, w stepwise[T],
	a *blocked.Matrix[T]) (*file.State[T], error) {
	input := file.Fingerprint(a)
	paths, err := c.states(w.algorithm)
	if err != nil {
		return nil, err
	}
	var first error
	for _, path := range paths {
		s, err := file.ReadStateHead[T](path)
		if err == nil && s.Algorithm != w.algorithm {
			err = &file.StateError{Reason: "it is one of " + s.Algorithm.String()}
		}
		if err == nil {
			if s.Input != input || s.Matrix.Kind() != a.Kind() {
				return nil, &CheckpointError{Path: path,
					Reason: "it is the state of another matrix, or of another tile size"}
			}
			s.Matrix = a
			if err := w.prepare(s); err != nil {
				return nil, &CheckpointError{path, "the factorization cannot go on from it", err}
			}
			if s.Rotations != nil {
				s.Rotations, err = qr.RotationsFor(a, s.Rotations.Options())
			}
		}
		from := path
		if err == nil && a.IsDistributed() {
			var remove func()
			if from, remove, err = atomicfile.Lend(path, processTag()+"*"+linkSuffix, os.Link); err == nil {
				a.AfterClose(remove)
			}
		}
		if err == nil {
			err = file.ReadStateTiles(from, a, s.Rotations, runner[T](ctx, e))
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
		first = c.missingState(w.algorithm)
	}
	s := &file.State[T]{Algorithm: w.algorithm, Input: input, Matrix: a}
	if first == nil {
		first = w.prepare(s)
	}
	return s, first
}
