package exec

import (
	"runtime"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

const (
	// inFlight is the number of calls that an accelerator is given at once: so
	// many that it has work while the end of one is being noticed and what that
	// has freed is started.
	inFlight = 4
	// ahead is how many tasks beyond these its worker takes, to bring their
	// operands in meanwhile and to begin with those that are there. The more it
	// takes the fewer remain for others. On a device with room for twelve tiles, of
	// a Cholesky factorization of 32×32 under eft, what was copied was 1.19 times
	// the least with 16, and 1.28 with 8 (blocked, TestPotrfTraffic).
	ahead = 16
	// patience is how often a task may see others go first whose operands were
	// there already.
	patience = 2 * ahead
	// nap is how long the worker waits for the end of a call before it looks
	// around.
	nap = 100 * time.Millisecond
)

// device is the worker of an accelerator: one goroutine on a locked thread that
// takes ready tasks in batches, starts calls, and concludes those that have
// ended.
type device struct {
	site
	acc  Accelerator
	wake chan struct{} // capacity 1
	lost atomic.Bool   // nothing is started there any more

	// waits says that the worker wants to be told of ready tasks, and asleep
	// that it waits for wake and not for the accelerator. The runtime's lock
	// guards both.
	waits, asleep bool

	// What follows is the goroutine's.
	batch  []*graph.Task // just taken from the policy
	ready  []candidate   // taken and accepted, not started
	flying int           // calls, or batches of them, started and not ended
	ended  []*versions.Launch
	freed  []*graph.Task
	spare  []*flight
	values []any
	work   versions.Workspace // what versions need on the host while they enqueue
	group  []*flight          // to be started next
	first  []*flight          // those that are being started, in case they end the goroutine
	call   versions.Call      // of a task that may join the group
}

// candidate is a task that waits to be started, and how many that came after it
// were started before it.
type candidate struct {
	task   *graph.Task
	passed int
	// asked says that its operands were asked for.
	asked bool
}

// addDevices makes the workers of the accelerators, which come after the hosts:
// the workers on cores. They do not run yet.
func (l *Local) addDevices() {
	l.hosts = len(l.workers)
	next := 0
	for _, w := range l.workers {
		l.fixed |= 1 << uint(w.info.Location)
		next = max(next, w.info.Location+1)
	}
	for i, a := range l.opt.Accelerators {
		id := len(l.workers)
		d := &device{acc: a, wake: make(chan struct{}, 1)}
		d.site = newSite(l, Worker{ID: id, Location: next + i, Accelerator: a.Name(), Target: a.Target()}, d)
		l.workers = append(l.workers, newWorker(d.site, &slot{}))
		l.devices = append(l.devices, d)
		l.record(a, id)
	}
}

// loop is the goroutine of the worker.
func (d *device) loop() {
	runtime.LockOSThread()
	defer d.survive()
	if len(d.group) > 0 { // the start of these was interrupted
		d.depart()
	}
	for {
		if d.acc.Lost() != nil {
			d.retire()
		}
		if !d.take() { // which may sleep
			d.rt.running.Done()
			return
		}
		if d.flying < inFlight && len(d.ready) > 0 {
			d.start(d.next())
			d.collect(0)
			continue
		}
		d.prefetch()
		if d.flying > 0 {
			d.collect(nap)
		}
	}
}

// survive continues the worker on a new goroutine when a call has ended the old
// one by runtime.Goexit.
func (d *device) survive() {
	first := d.first
	if first == nil {
		return
	}
	d.first = nil
	for _, f := range first {
		d.finish(f, &PanicError{Stack: debug.Stack()})
	}
	go d.loop()
}

// take fills the list of tasks to start from the inbox and the policy. It waits
// if there is nothing to do at all, and returns false when the runtime is closed.
func (d *device) take() bool {
	l := d.rt
	room := ahead + inFlight - d.flying - len(d.ready)
	if d.lost.Load() && !l.sorted { // else nobody takes what only it could run
		room = 0
	}
	l.mu.Lock()
	for ; room > 0; room-- {
		t := l.ready.Pop(d.info.ID)
		if t == nil {
			break
		}
		d.batch = append(d.batch, t)
	}
	d.waits = room > 0
	if len(d.batch) > 0 {
		l.count()
	} else if d.flying == 0 && len(d.ready) == 0 {
		if l.closing.Load() {
			l.mu.Unlock()
			return false
		}
		d.asleep = true
		l.mu.Unlock()
		<-d.wake
		l.mu.Lock()
		d.asleep = false
	}
	l.mu.Unlock()
	for i, t := range d.batch {
		d.batch[i] = nil
		if d.accepts(t) == nil {
			d.ready = append(d.ready, candidate{task: t})
		} else {
			d.refuse(t)
		}
	}
	d.batch = d.batch[:0]
	return true
}

// next takes the task to start next off the list: the one for which the fewest
// bytes are missing on the accelerator, the first taken among equals.
func (d *device) next() *graph.Task {
	best, least := 0, int64(-1)
	for i := range d.ready {
		c := &d.ready[i]
		if c.passed >= patience {
			best = i
			break
		}
		missing := int64(0)
		if len(d.ready) > 1 {
			missing = d.price(c.task)
		}
		if least < 0 || missing < least {
			best, least = i, missing
		}
	}
	t := d.ready[best].task
	for i := range best {
		d.ready[i].passed++
	}
	d.ready = slices.Delete(d.ready, best, best+1)
	return t
}

// price is what starting t now costs in copies: the bytes that it reads and that
// the accelerator does not have, those that it writes as well twice, as they have
// to leave again if they are not there to stay.
func (d *device) price(t *graph.Task) (bytes int64) {
	for i := range t.Len() {
		switch o := t.Operand(i); o.Mode & graph.InOut {
		case graph.In:
			bytes += d.acc.Missing(o.Datum.Value)
		case graph.InOut:
			bytes += 2 * d.acc.Missing(o.Datum.Value)
		}
	}
	return bytes
}

// missing returns how many bytes t reads that the accelerator does not have.
func (d *device) missing(t *graph.Task) (bytes int64) {
	for i := range t.Len() {
		if o := t.Operand(i); o.Mode&graph.In != 0 {
			bytes += d.acc.Missing(o.Datum.Value)
		}
	}
	return bytes
}

// prefetch asks for the operands of tasks that wait to be started.
func (d *device) prefetch() {
	for k := range d.ready {
		c := &d.ready[k]
		if c.asked {
			continue
		}
		c.asked = true
		d.values = d.values[:0]
		for i := range c.task.Len() {
			if o := c.task.Operand(i); o.Mode&graph.In != 0 && !d.rt.away(o.Datum.Value, d) {
				d.values = append(d.values, o.Datum.Value)
			}
		}
		j := jobOf(c.task)
		j.used.Store(true)
		d.acc.Prefetch(d.values, j.id)
	}
	clear(d.values[:cap(d.values)])
}

// collect concludes the calls that have ended; it waits for one at most for the
// given time.
func (d *device) collect(wait time.Duration) {
	if d.flying == 0 {
		return
	}
	d.ended = d.acc.Ended(d.ended[:0], wait)
	for i, l := range d.ended {
		d.ended[i] = nil
		f := l.Owner.(*flight)
		if f.last {
			d.flying--
		}
		d.finish(f, l.Err)
	}
}

// over gives the policy what a task has freed that d had taken and that is d's
// no more.
func (d *device) over(freed []*graph.Task) {
	d.rt.mu.Lock()
	d.rt.ready.Push(freed, d.info.ID)
	w := d.rt.rouse()
	d.rt.mu.Unlock()
	w.rouse()
	clear(freed)
	d.freed = freed[:0]
}

// retire gives everything that d has not started to others, once: the
// accelerator is lost.
func (d *device) retire() {
	if d.lost.Swap(true) {
		return
	}
	l := d.rt
	var left []*graph.Task
	for _, c := range d.ready {
		left = append(left, c.task)
	}
	clear(d.ready)
	d.ready = d.ready[:0]
	l.mu.Lock()
	for t := l.ready.Pop(d.info.ID); t != nil; t = l.ready.Pop(d.info.ID) {
		left = append(left, t)
	}
	l.mu.Unlock()
	l.enqueue(left)
}

// rouseDevices wakes the workers of accelerators that look for tasks. The caller
// holds mu.
func (l *Local) rouseDevices() {
	for _, d := range l.devices {
		if d.waits && l.ready.Any(d.info.ID) {
			d.rouse()
		}
	}
}

// rouse wakes the worker, whatever it waits for. The caller holds mu.
func (d *device) rouse() {
	d.waits = false
	if !d.asleep {
		d.acc.Wake()
		return
	}
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// stopDevices ends the sleep of workers of accelerators: there will be no more
// tasks. The caller holds mu, and has set closing.
func (l *Local) stopDevices() {
	for _, d := range l.devices {
		d.rouse()
	}
}
