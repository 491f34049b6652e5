package exec

import (
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// fetch prepares the operands of t for an attempt at w: what accelerators other
// than w have of them comes back to the host, which loses it to w if w is one. Before the first attempt of a task that may be tried again the
// host has to have what is saved.
func (w *site) fetch(t *graph.Task) error {
	l := w.rt
	if w.record != nil && w.device == nil {
		defer l.recordWait(w, t)()
	}
	saves := saves(t)
	for i := range t.Len() {
		o := t.Operand(i)
		use := useOf(o.Mode)
		for _, d := range l.devices {
			var err error
			switch {
			case d != w.device:
				// The datum's own value is what a reduction adds to at its end, on
				// the host, whoever comes to do it.
				err = d.acc.Fetch(o.Datum.Value, use)
			case saves && inPlace(o.Mode):
				err = d.acc.Fetch(o.Datum.Value, versions.Reads)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// away reports whether an accelerator other than d has the value as it is, and
// the host has not.
func (l *Local) away(value any, d *device) bool {
	for _, o := range l.devices {
		if o != d && o.acc.Back(value) > 0 {
			return true
		}
	}
	return false
}

// claim gives up what accelerators have of the data that t updates: the host is
// about to restore them.
func (l *Local) claim(t *graph.Task) {
	for i := range t.Len() {
		if o := t.Operand(i); inPlace(o.Mode) {
			for _, d := range l.devices {
				// It is lost or not: nobody is going to read it.
				_ = d.acc.Fetch(o.Datum.Value, versions.Writes)
			}
		}
	}
}

// bring has the host have a datum as the last task that ended has left it.
func (l *Local) bring(d *graph.Datum) *graph.Fault {
	for _, a := range l.devices {
		if err := a.acc.Fetch(d.Value, versions.Reads); err != nil {
			return &graph.Fault{Err: err}
		}
	}
	return nil
}

// flush has the host have everything that tasks of j have left on accelerators,
// and keeps nothing of it there. An error is the job's. The caller holds submit:
// what others have submitted meanwhile ends first.
func (j *job) flush() {
	if !j.used.Load() {
		return
	}
	if j.done.Load() < j.submit.count {
		j.idle(func() { j.waitDone(j.submit.count) })
	}
	j.used.Store(false)
	for _, d := range j.rt.devices {
		if err := d.acc.Flush(j.id); err != nil {
			j.abort(err)
		}
	}
}
