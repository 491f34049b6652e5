package exec

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// memory is what workers on cores have for tasks that say how much they need: all of
// one kind have their target's together. A task takes its part as a whole before it
// runs, and waits without any, so nobody waits for ever: when all is given back, the
// first of those who wait has room. The runtime's lock guards it.
type memory struct {
	free    []int64   // by kind
	waiting [][]claim // by kind, first come first served
	granted [][]claim // of those, who have got theirs and no worker yet
	count   int       // of these
}

// claim is a task, or a worker in the middle of one, that wants memory.
type claim struct {
	task  *graph.Task
	bytes int64
	ready chan struct{} // of a worker
}

// errNotRun stands for an attempt that has chosen a version and not run it.
var errNotRun = errors.New("exec: not run")

// MemoryError says that a task needs more memory than all workers of a kind have
// together.
type MemoryError struct {
	Op         string
	Need, Have int64
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("exec: %s needs %d bytes of memory while it runs, and its workers have %d together", e.Op, e.Need, e.Have)
}

func newMemory(k *kinds) memory {
	m := memory{waiting: make([][]claim, k.hosts), granted: make([][]claim, k.hosts)}
	for _, on := range k.targets[:k.hosts] {
		m.free = append(m.free, on.Memory)
	}
	return m
}

// needs returns the memory that the attempt takes: what the version says, or what the
// task says if that is more. A call that makes no sense is going to say so when it
// runs.
func (a *attempt) needs(t *graph.Task) (bytes int64) {
	c, _ := t.Constraints().(*versions.Constraints)
	if c != nil {
		bytes = c.Memory
	}
	defer func() { _ = recover() }()
	return max(bytes, a.choice.Version.Beside(&a.call))
}

// reserve takes the memory that w's attempt at t needs. If there is not enough of it
// now, t waits, w is to go on to others, and later is true.
func (w *worker) reserve(t *graph.Task) (later bool, err error) {
	need, have := w.needs(t), w.info.Target.Memory
	if have == 0 || need <= w.held {
		return false, nil
	}
	if need > have {
		return false, &MemoryError{Op: t.Op.OpName(), Need: need, Have: have}
	}
	l := w.rt
	l.mu.Lock()
	defer l.mu.Unlock()
	l.giveMemory(w)
	return !l.take(w, claim{task: t, bytes: need}), nil
}

// take reserves memory for w, or has the claim wait. The caller holds mu.
func (l *Local) take(w *worker, c claim) bool {
	kind := l.kinds.of[w.info.ID]
	if len(l.memory.waiting[kind]) > 0 || c.bytes > l.memory.free[kind] {
		l.memory.waiting[kind] = append(l.memory.waiting[kind], c)
		return false
	}
	l.memory.free[kind] -= c.bytes
	w.held = c.bytes
	return true
}

// giveMemory gives back what w holds, and hands it on. The caller holds mu.
func (l *Local) giveMemory(w *worker) {
	if w.held == 0 {
		return
	}
	m, kind := &l.memory, l.kinds.of[w.info.ID]
	m.free[kind] += w.held
	w.held = 0
	for len(m.waiting[kind]) > 0 && m.waiting[kind][0].bytes <= m.free[kind] {
		c := m.waiting[kind][0]
		m.waiting[kind] = slices.Delete(m.waiting[kind], 0, 1)
		m.free[kind] -= c.bytes
		if c.task == nil {
			close(c.ready)
			continue
		}
		m.granted[kind] = append(m.granted[kind], c)
		m.count++
		// There is room: see docs/locks.md.
		l.rise(func(p *worker) bool { return l.kinds.of[p.info.ID] == kind }).rouse()
	}
	l.count()
}

// grant returns a task that has got its memory, for w, nil if there is none. The
// caller holds mu.
func (l *Local) grant(w *worker) *graph.Task {
	granted := &l.memory.granted[l.kinds.of[w.info.ID]]
	if len(*granted) == 0 {
		return nil
	}
	c := (*granted)[0]
	*granted = slices.Delete(*granted, 0, 1)
	l.memory.count--
	w.held = c.bytes
	return c.task
}

// lend lets others have what w holds while f waits, and takes as much again.
func (w *worker) lend(f func()) {
	l, held := w.rt, w.held
	if held == 0 {
		f()
		return
	}
	l.mu.Lock()
	l.giveMemory(w)
	l.mu.Unlock()
	defer func() {
		c := claim{bytes: held, ready: make(chan struct{})}
		l.mu.Lock()
		got := l.take(w, c)
		l.mu.Unlock()
		if !got {
			<-c.ready
			w.held = held
		}
	}()
	f()
}
