package exec

import (
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/versions"
)

// Copier is an [Accelerator] that can tell of its copies, for traces.
type Copier interface {
	// OnCopy has f called for each copy that has ended, by any goroutine and
	// maybe some time later; nil ends that. It is called while nothing is copied.
	OnCopy(f func(versions.Copy))
}

// record has the recorder, if there is one, know an accelerator by its name, and
// be told of its copies if it can tell.
func (l *Local) record(a Accelerator, id int) {
	r := l.opt.Recorder
	if r == nil {
		return
	}
	r.Name(id, a.Name())
	if c, ok := a.(Copier); ok {
		c.OnCopy(func(c versions.Copy) {
			start := max(c.Begin.Sub(r.Began()), 0)
			r.Copy(trace.Copy{Worker: id, Out: c.Out, Job: c.Job, Bytes: c.Bytes, Start: start, End: start + c.Took})
		})
	}
}

// release has accelerators tell no more of their copies, and gives them back.
func (l *Local) release() {
	for _, d := range l.devices {
		if c, ok := d.acc.(Copier); ok && l.opt.Recorder != nil {
			c.OnCopy(nil)
		}
	}
	releaseAll(l.opt.Accelerators)
}

// recordWait records, if an operand of t is on an accelerator only, that w waits
// for it until the function that it returns is called.
func (l *Local) recordWait(w *site, t *graph.Task) (end func()) {
	for i := range t.Len() {
		if o := t.Operand(i); o.Mode&graph.In != 0 && l.away(o.Datum.Value, nil) {
			r := l.opt.Recorder
			x := trace.Wait{Worker: w.info.ID, Job: jobOf(t).id, Task: uint64(t.ID()), Start: r.Now()}
			return func() {
				x.End = r.Now()
				r.Wait(x)
			}
		}
	}
	return func() {}
}
