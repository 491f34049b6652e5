package exec_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec/offload"
	"github.com/tessera-la/tessera/versions"
)

// cell is a value that can go to a fake accelerator.
type cell struct {
	local
	n int
}

// What a cell holds where nobody may read it.
const (
	stale = -1_000_001 // on the host, while only an accelerator has it
	unset = -1_000_002 // on an accelerator, before a call that only writes it
	freed = -1_000_003 // on an accelerator, when it has been given up
)

var errLost = errors.New("the fake accelerator is lost")

// lostValue says that a value is gone with its accelerator.
type lostValue struct{ cell *cell }

func (e *lostValue) Error() string { return fmt.Sprintf("the value of %p is lost", e.cell) }

// fake is an accelerator whose memory holds a few cells. It executes calls on a
// goroutine, in order, each after a random delay, and copies a cell when the call
// that needs it begins. What is wrong in how it is used goes to the test.
type fake struct {
	name   string
	target *versions.Target
	room   int // cells
	t      testing.TB

	mu      sync.Mutex
	news    sync.Cond // something has ended, or there is something to do
	rng     *rand.Rand
	copies  map[*cell]*fakeCopy
	queue   []*fakeQueue
	ended   []*versions.Launch
	woken   bool
	lost    error
	loseAt  int // launches after which it is lost; 0 is never
	closed  bool
	over    chan struct{}
	started int
	batches int
	moved   int // cells copied in or out
	copied  func(versions.Copy)
	claimed bool

	peers  []*fake
	broken atomic.Bool // lost is set, for peers
}

type fakeCopy struct {
	n        int
	valid    bool
	modified bool
	uses     int // calls in flight
	writers  int
	jobs     []uint64
	lost     bool
	last     int
}

// fakeQueue is what versions of the kind "fake" get as Call.Device.
type fakeQueue struct {
	launch *versions.Launch
	cells  []*cell // each once
	work   func(values []*int) error
}

// Do enqueues the work of the call.
func (q *fakeQueue) Do(f func(values []*int) error) { q.work = f }

func newFake(t testing.TB, name string, room int, seed uint64) *fake {
	a := &fake{name: name, target: &versions.Target{Kind: "fake", Processor: name}, room: room, t: t,
		rng: rand.New(rand.NewPCG(seed, 5)), copies: map[*cell]*fakeCopy{}, over: make(chan struct{})}
	a.news.L = &a.mu
	go a.run()
	return a
}

func (a *fake) Name() string             { return a.name }
func (a *fake) Target() *versions.Target { return a.target }

func (a *fake) Claim() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	was := a.claimed
	a.claimed = true
	return !was
}

func (a *fake) Release() {
	a.mu.Lock()
	a.claimed = false
	a.mu.Unlock()
}

func (a *fake) Fits(values []any, _ int64) error {
	if n := len(cells(values)); n > a.room {
		return fmt.Errorf("%d cells do not fit", n)
	}
	return nil
}

// cells returns the cells among values, each once.
func cells(values []any) (all []*cell) {
	for _, v := range values {
		if c, ok := v.(*cell); ok && !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	return all
}

func (a *fake) Missing(value any) int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	c, ok := value.(*cell)
	if e := a.copies[c]; !ok || e != nil && e.valid {
		return 0
	}
	return 8
}

func (a *fake) Bring(bytes int64) time.Duration { return time.Duration(bytes) * time.Microsecond }

func (a *fake) Back(value any) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c, ok := value.(*cell); ok && a.copies[c] != nil && a.copies[c].modified {
		return 8 * time.Microsecond
	}
	return 0
}

func (a *fake) Prefetch(values []any, job uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range cells(values) {
		if a.lost != nil || len(a.copies) >= a.room || a.copies[c] != nil && a.copies[c].valid {
			continue
		}
		if c.n == stale && a.bereft() {
			continue // it may be gone: its readers are told so
		}
		e := a.entry(c, job)
		a.in(c, e)
	}
}

// bereft reports whether another accelerator has been lost, with what it had.
func (a *fake) bereft() bool {
	return slices.ContainsFunc(a.peers, func(p *fake) bool { return p.broken.Load() })
}

// entry returns the copy of c, maybe without its value. The caller holds mu.
func (a *fake) entry(c *cell, job uint64) *fakeCopy {
	e := a.copies[c]
	if e == nil {
		e = &fakeCopy{n: unset}
		a.copies[c] = e
	}
	if !slices.Contains(e.jobs, job) {
		e.jobs = append(e.jobs, job)
	}
	e.last = a.started
	return e
}

func (a *fake) in(c *cell, e *fakeCopy) {
	if c.n == stale {
		a.t.Errorf("%s reads a stale value of the host", a.name)
	}
	e.n, e.valid = c.n, true
	a.tell(false)
}

func (a *fake) out(c *cell, e *fakeCopy) {
	c.n, e.modified = e.n, false
	a.tell(true)
}

// OnCopy makes fake an offload.Copier.
func (a *fake) OnCopy(f func(versions.Copy)) {
	a.mu.Lock()
	a.copied = f
	a.mu.Unlock()
}

func (a *fake) tell(out bool) {
	a.moved++
	if a.copied != nil {
		a.copied(versions.Copy{Out: out, Bytes: 8, Begin: time.Now(), Took: time.Microsecond})
	}
}

func (a *fake) Launch(l *versions.Launch) error {
	return a.launch([]*versions.Launch{l}, func([]*versions.Call) error { return l.Version.Run(&l.Call) })
}

// LaunchBatch makes fake an offload.Batcher.
func (a *fake) LaunchBatch(all []*versions.Launch) error {
	b := all[0].Version.Batch
	for _, l := range all {
		if len(all) < 2 || l.Version != all[0].Version || b.Key(&l.Call) != b.Key(&all[0].Call) || b.Key(&l.Call) == nil {
			a.t.Errorf("%s: a batch of %d calls that do not go together", a.name, len(all))
		}
	}
	err := a.launch(all, b.Run)
	if err == nil {
		a.mu.Lock()
		a.batches++
		a.mu.Unlock()
	}
	return err
}

// launch starts calls that run enqueues.
func (a *fake) launch(all []*versions.Launch, run func([]*versions.Call) error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var queues []*fakeQueue
	var calls []*versions.Call
	var values []any
	for _, l := range all {
		q := &fakeQueue{launch: l, cells: cells(l.Call.Args)}
		queues, calls, values = append(queues, q), append(calls, &l.Call), append(values, l.Call.Args...)
		l.Call.Device = q
	}
	used := cells(values)
	if len(used) > a.room {
		return fmt.Errorf("%d cells do not fit", len(used))
	}
	fresh := func() (n int) {
		for _, c := range used {
			if a.copies[c] == nil {
				n++
			}
		}
		return n
	}
	for a.lost == nil && len(a.copies)+fresh() > a.room {
		var old *cell
		for c, e := range a.copies {
			if e.uses == 0 && !slices.Contains(used, c) && (old == nil || e.last < a.copies[old].last) {
				old = c
			}
		}
		if old == nil {
			a.news.Wait()
			continue
		}
		a.drop(old, true)
	}
	if a.lost != nil {
		return a.lost
	}
	if err := run(calls); err != nil {
		return err
	}
	for _, q := range queues {
		l := q.launch
		for _, c := range q.cells {
			e := a.entry(c, l.Job)
			e.uses++
			if a.uses(l, c)&versions.Writes != 0 {
				if e.uses > 1 {
					a.t.Errorf("%s: a call writes what another in flight uses", a.name)
				}
				e.writers++
			} else if e.writers > 0 {
				a.t.Errorf("%s: a call reads what another in flight writes", a.name)
			}
		}
		a.queue = append(a.queue, q)
		a.started++
		if a.started == a.loseAt {
			a.loseLocked()
		}
	}
	a.news.Broadcast()
	return nil
}

func (a *fake) uses(l *versions.Launch, c *cell) (u versions.Use) {
	for i, v := range l.Call.Args {
		if v == any(c) {
			u |= l.Uses[i]
		}
	}
	return u
}

// drop gives up a copy. The caller holds mu.
func (a *fake) drop(c *cell, save bool) {
	e := a.copies[c]
	if e.modified && save {
		a.out(c, e)
	}
	e.n = freed
	delete(a.copies, c)
}

// run is the goroutine of the accelerator.
func (a *fake) run() {
	defer close(a.over)
	a.mu.Lock()
	defer a.mu.Unlock()
	for {
		for len(a.queue) == 0 && !a.closed {
			a.news.Wait()
		}
		if len(a.queue) == 0 {
			return
		}
		q := a.queue[0]
		a.queue = a.queue[1:]
		l := q.launch
		values := make([]*int, len(l.Call.Args))
		if a.lost == nil {
			for _, c := range q.cells {
				if e := a.copies[c]; !e.valid && a.uses(l, c)&versions.Reads != 0 {
					a.in(c, e)
				}
			}
			for i, v := range l.Call.Args {
				if c, ok := v.(*cell); ok {
					values[i] = &a.copies[c].n
				}
			}
			delay := time.Duration(a.rng.IntN(40)) * time.Microsecond
			a.mu.Unlock()
			l.Begin = time.Now()
			time.Sleep(delay)
			l.Err = q.work(values)
			l.Busy = time.Since(l.Begin)
			a.mu.Lock()
		}
		if a.lost != nil {
			l.Err = a.lost
		}
		for _, c := range q.cells {
			e := a.copies[c]
			e.uses--
			if a.uses(l, c)&versions.Writes != 0 {
				e.writers--
				if a.lost == nil {
					e.valid, e.modified = true, true
					c.n = stale
				}
			}
		}
		a.ended = append(a.ended, l)
		a.news.Broadcast()
	}
}

func (a *fake) Ended(ended []*versions.Launch, wait time.Duration) []*versions.Launch {
	a.mu.Lock()
	defer a.mu.Unlock()
	if wait > 0 && len(a.ended) == 0 && !a.woken {
		timer := time.AfterFunc(wait, a.Wake)
		for len(a.ended) == 0 && !a.woken {
			a.news.Wait()
		}
		timer.Stop()
	}
	if wait > 0 {
		a.woken = false
	}
	ended = append(ended, a.ended...)
	a.ended = nil
	return ended
}

func (a *fake) Wake() {
	a.mu.Lock()
	a.woken = true
	a.news.Broadcast()
	a.mu.Unlock()
}

func (a *fake) Fetch(value any, use versions.Use) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	c, ok := value.(*cell)
	if !ok {
		return nil
	}
	e := a.copies[c]
	if e == nil {
		return nil
	}
	return a.fetch(c, e, use)
}

func (a *fake) fetch(c *cell, e *fakeCopy, use versions.Use) error {
	if e.writers > 0 || e.uses > 0 && use&versions.Writes != 0 {
		a.t.Errorf("%s: the host uses what a call in flight writes, or writes what it uses", a.name)
	}
	if e.lost {
		if use&versions.Reads != 0 {
			return &lostValue{c}
		}
		delete(a.copies, c)
		return nil
	}
	if e.modified && use&versions.Reads != 0 {
		a.out(c, e)
	}
	if use&versions.Writes != 0 {
		a.drop(c, false)
	}
	return nil
}

func (a *fake) Flush(job uint64) (err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for c, e := range a.copies {
		if !slices.Contains(e.jobs, job) || e.uses > 0 {
			continue
		}
		if e.lost {
			err = &lostValue{c}
			delete(a.copies, c)
			continue
		}
		a.drop(c, true)
	}
	return err
}

// Lose breaks the accelerator.
func (a *fake) Lose() {
	a.mu.Lock()
	a.loseLocked()
	a.news.Broadcast()
	a.mu.Unlock()
}

func (a *fake) loseLocked() {
	a.lost = errLost
	a.broken.Store(true)
	for c, e := range a.copies {
		if e.uses == 0 { // else the call in flight looks at it
			e.n = freed
		}
		if e.lost = e.modified; !e.lost && e.uses == 0 {
			delete(a.copies, c)
		}
		e.modified, e.valid = false, false
	}
}

func (a *fake) Lost() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.lost
}

func (a *fake) Close() error {
	a.mu.Lock()
	a.closed = true
	a.news.Broadcast()
	a.mu.Unlock()
	<-a.over
	return nil
}

// empty fails the test if the accelerator still has data.
func (a *fake) empty(t testing.TB) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.copies) > 0 {
		t.Errorf("%s still has %d cells", a.name, len(a.copies))
	}
}

var (
	_ offload.Accelerator = (*fake)(nil)
	_ offload.Batcher     = (*fake)(nil)
)
