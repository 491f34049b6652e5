package offload

import (
	"runtime"
	"runtime/debug"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
)

const (
	// InFlight is the number of calls that a device is given at once, so that it has work while the
	// worker notices the end of one and starts what that has freed.
	InFlight = 4
	// nap is how long the worker waits for the end of a call before it looks for other work.
	nap = 100 * time.Millisecond
)

// Worker is the worker of a device: one goroutine on a locked thread that takes ready
// tasks in batches, starts calls, and concludes those that have ended.
type Worker struct {
	launcher
	batch    []*graph.Task // just taken from the runtime
	takes    bool          // it still takes tasks, although the device is lost
	operands []any         // scratch: of one task, for Prefetch
}

// NewWorker returns the worker of a device. It does nothing before [Worker.Loop].
func NewWorker(d *Device, opt Options) *Worker {
	return &Worker{launcher: launcher{Device: d, Options: opt}}
}

// Loop is the goroutine of the worker, until the runtime is closed.
func (w *Worker) Loop() {
	runtime.LockOSThread()
	defer w.survive()
	if len(w.group) > 0 { // the start of these was interrupted
		w.depart()
	}
	for {
		if w.Lost() != nil && !w.lost.Swap(true) {
			w.takes = w.Runtime.Leave(w.waiting.Drain())
		}
		if !w.fill() {
			w.Runtime.Exit()
			return
		}
		if w.flying < InFlight && w.waiting.Len() > 0 {
			w.start(w.waiting.Next(w.price))
			w.collect(0)
			continue
		}
		w.waiting.Ask(w.prefetch)
		if w.flying > 0 {
			w.collect(nap)
		}
	}
}

// survive continues the worker on a new goroutine when a call has ended the old one by
// runtime.Goexit.
func (w *Worker) survive() {
	first := w.first
	if first == nil {
		return
	}
	w.first = nil
	for _, f := range first {
		w.finish(f, &graph.PanicError{Stack: debug.Stack()})
	}
	go w.Loop()
}

// fill fills the list of candidates, so that the operands of one are always there. It waits if
// there is nothing to do at all, and returns false when there will be no more tasks.
func (w *Worker) fill() (ok bool) {
	room := Ahead + InFlight - w.flying - w.waiting.Len()
	if w.lost.Load() && !w.takes {
		room = 0
	}
	w.batch, ok = w.Runtime.Take(w.batch[:0], room, w.flying == 0 && w.waiting.Len() == 0)
	for i, t := range w.batch {
		w.batch[i] = nil
		if w.Accepts(t) == nil {
			w.waiting.Add(t)
		} else {
			w.Runtime.Refuse(t)
		}
	}
	return ok
}

// prefetch begins to copy the operands of a task. Values of another device must come by way of the
// host first, when the task starts.
func (w *Worker) prefetch(t *graph.Task) bool {
	w.operands = w.operands[:0]
	for i := range t.Len() {
		if o := t.Operand(i); o.Mode&graph.In != 0 && !w.Devices.Away(o.Datum.Value, w.Device) {
			w.operands = append(w.operands, o.Datum.Value)
		}
	}
	w.Prefetch(w.operands, w.Runtime.Uses(t))
	clear(w.operands)
	return true
}
