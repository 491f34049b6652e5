package exec

import (
	"errors"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// ErrNotRestorable is the panic of [Job.Submit] for a task with retries that
// updates something in place that is no versions.Value: a second attempt would
// compute on what the first one has left. So it is for a child that overwrites a
// renamed datum of that kind: what it makes could not come into the datum's value.
const ErrNotRestorable graph.Error = "exec: a value that has to be restored, or replaced, is no versions.Value"

// inPlace reports whether a task with that mode changes the value that it reads.
func inPlace(m graph.Mode) bool { return m&graph.InOut == graph.InOut }

// mayRetry reports whether a task is to be tried again if it fails.
func mayRetry(f *graph.Failure) bool { return f != nil && f.Retries > 0 }

// checkRestorable panics with ErrNotRestorable if s has retries and cannot be
// retried, or if it is a child and gives a datum a value that cannot be put back. The
// copies of a reduction are of the datum's own type.
func (j *job) checkRestorable(s *graph.Spec) {
	if !mayRetry(s.Failure) && j.parent == nil {
		return
	}
	for i, o := range s.Operands {
		for _, x := range s.Operands[:i] {
			if x.Datum == o.Datum {
				o.Mode |= x.Mode
			}
		}
		if _, ok := o.Datum.Value.(versions.Value); ok {
			continue
		}
		if inPlace(o.Mode) && mayRetry(s.Failure) || o.Mode == graph.Out && j.parent != nil && o.Datum.Renamed() {
			panic(ErrNotRestorable)
		}
	}
}

// saves reports whether the next attempt at t has to save what it changes in place.
func saves(t *graph.Task) bool { return mayRetry(t.Failure()) && t.Kept() == nil }

// save keeps with t, before its first attempt, snapshots of what it updates in
// place: by operand, nil for others.
func save(t *graph.Task) {
	kept := make([]versions.Value, t.Len())
	for i := range kept {
		if inPlace(t.Operand(i).Mode) {
			kept[i] = t.Value(i).(versions.Value).Snapshot()
		}
	}
	t.Keep(kept)
}

// restore undoes what a failed attempt has done to what t updates in place. It
// reports false if that panics.
func (l *Local) restore(t *graph.Task) (ok bool) {
	defer func() { ok = recover() == nil && ok }()
	kept, _ := t.Kept().([]versions.Value)
	if kept != nil {
		l.claim(t)
	}
	for i, v := range kept {
		if v != nil {
			t.Value(i).(versions.Value).Restore(v)
		}
	}
	return true
}

// putBack copies what children have made in new memory, of data that are renamed, to
// where their parent has it. The caller holds submit, and all tasks have ended.
func (j *job) putBack() {
	j.submit.graph.PutBack(func(value, latest any) { value.(versions.Value).Restore(latest.(versions.Value)) })
}

// retriable reports whether t, which has failed with err, has an attempt left. What
// was handed on may have been used, and changed, already; and some errors say that
// another attempt would fail as well.
func retriable(t *graph.Task, err error) bool {
	if !mayRetry(t.Failure()) || int(t.Attempt) >= t.Failure().Retries || t.Gave() {
		return false
	}
	var f interface{ Final() bool }
	return !errors.As(err, &f) || !f.Final()
}

// again decides whether t, whose attempt has failed, is to be run again, and
// prepares it.
func (j *job) again(w *site, t *graph.Task, version string, err error) bool {
	if !retriable(t, err) || uint64(t.ID()) > j.last.Load() {
		return false
	}
	j.tell(t, graph.Ready, w.info.ID, version, err)
	t.Attempt++
	t.SetState(graph.Ready)
	return j.rt.restore(t)
}
