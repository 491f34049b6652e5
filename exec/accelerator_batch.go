package exec

import (
	"errors"
	"slices"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// Batcher is an [Accelerator] that can start several calls as one: those of a
// version whose keys are equal, see [versions.Batch].
type Batcher interface {
	// LaunchBatch starts at least two calls as one. They end together, each with
	// an error of its own, and share the time that they took. If it returns an
	// error none of them has been started, and each may be.
	LaunchBatch(calls []*versions.Launch) error
}

// together is how many calls are started as one at most: on a device that takes
// a few microseconds to start a call what is left of that is small then. Not
// measured.
const together = 16

// gather adds to the group of f the tasks among those that wait to be started
// that can be executed as one with f: all of whose operands are there, or on
// their way, so that nobody waits for them.
func (d *device) gather(f *flight) {
	v := f.choice.Version
	if _, ok := d.acc.(Batcher); !ok || v.Batch == nil || d.rt.opt.Alone || len(d.ready) == 0 {
		return
	}
	key := keyOf(v.Batch, &f.call)
	if key == nil {
		return
	}
	for i := 0; i < len(d.ready) && len(d.group) < together; {
		t := d.ready[i].task
		if t.Op != f.task.Op || t.Attempt > 0 || d.price(t) > 0 || d.keyOf(v.Batch, t) != key {
			i++
			continue
		}
		d.ready = slices.Delete(d.ready, i, i+1)
		if g := d.board(t); g != nil {
			d.group = append(d.group, g)
		}
	}
}

// keyOf returns the key of t.
func (d *device) keyOf(b *versions.Batch, t *graph.Task) any {
	d.call.Params, d.call.Args = t.Params, t.Values(d.call.Args[:0])
	key := keyOf(b, &d.call)
	clear(d.call.Args)
	d.call.Params = nil
	return key
}

// keyOf returns the key of a call; nil if that makes no sense, and is going to say
// so when it runs.
func keyOf(b *versions.Batch, call *versions.Call) (key any) {
	defer func() {
		if recover() != nil {
			key = nil
		}
	}()
	return b.Key(call)
}

// depart starts the group: as one as far as the same version was chosen for all
// of it, and one by one where that does not do.
func (d *device) depart() {
	all, n := d.group, 1
	for i := 1; i < len(all); i++ {
		if all[i].choice.Version == all[0].choice.Version {
			all[n], all[i] = all[i], all[n]
			n++
		}
	}
	if n > 1 {
		d.group = all[n:]
		err := d.invoke(all[:n])
		panicked := (*PanicError)(nil)
		switch {
		case err == nil:
			d.away(all[n-1])
		case errors.As(err, &panicked): // and may have begun
			for _, f := range all[:n] {
				d.finish(f, err)
			}
		default:
			d.group = all
		}
	}
	for len(d.group) > 0 {
		f := d.group[:1]
		d.group = d.group[1:]
		if err := d.invoke(f); err != nil {
			d.unstarted(f[0], err)
		} else {
			d.away(f[0])
		}
	}
}

// away notes that flights were started as one of which f is the last.
func (d *device) away(f *flight) {
	f.last = true
	d.flying++
}
