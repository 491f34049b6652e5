package exec

import (
	"errors"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/offload"
	"github.com/tessera-la/tessera/versions"
)

// A further attempt at a task must find what the first one found. Operands that the task only reads
// do not change, and those that it only writes are written anew. Operands that it updates in place
// are saved on the host before the first attempt and restored after each failed one. A task without
// retries saves nothing.

// mayRetry reports whether a task with the policy f is retried if it fails.
func mayRetry(f *graph.Failure) bool { return f != nil && f.Retries > 0 }

// checkRestorable panics with ErrNotRestorable in two cases: s has retries and updates a value that
// cannot be restored, or s is a child and overwrites a renamed datum whose value cannot be
// replaced. Copies of a reduction have the datum's own type.
func checkRestorable(s *graph.Spec, child bool) {
	if !mayRetry(s.Failure) && !child {
		return
	}
	for i, o := range s.Operands {
		// A datum that occurs twice, read and written, is updated.
		for _, x := range s.Operands[:i] {
			if x.Datum == o.Datum {
				o.Mode |= x.Mode
			}
		}
		if _, ok := o.Datum.Value.(versions.Value); ok {
			continue
		}
		if o.Mode.InPlace() && mayRetry(s.Failure) || o.Mode == graph.Out && child && o.Datum.Renamed() {
			panic(ErrNotRestorable)
		}
	}
}

// saves reports whether the next attempt at t must save operands: it is the first one, and there
// may be a second.
func saves(t *graph.Task) bool { return mayRetry(t.Failure()) && t.Kept() == nil }

// save stores with t, before its first attempt, snapshots of the operands that it updates in place:
// by operand, nil for others. They are dropped when t ends.
func save(t *graph.Task) {
	kept := make([]versions.Value, t.Len())
	for i := range kept {
		if t.Operand(i).Mode.InPlace() {
			kept[i] = t.Value(i).(versions.Value).Snapshot()
		}
	}
	t.Keep(kept)
}

// restore undoes what a failed attempt has done to operands that t updates in place, on the host
// and on devices. It reports false if that panics.
func restore(t *graph.Task, devices offload.Devices) (ok bool) {
	defer func() { ok = recover() == nil && ok }()
	kept, _ := t.Kept().([]versions.Value)
	// Drop the devices' copies first: the failed attempt has made them.
	if kept != nil {
		devices.Drop(t)
	}
	for i, v := range kept {
		if v != nil {
			t.Value(i).(versions.Value).Restore(v)
		}
	}
	return true
}

// retriable reports whether t, which has failed with err, has an attempt left. A task that has
// handed on an operand has none, since others may have changed it already; nor has one whose error
// is final.
func retriable(t *graph.Task, err error) bool {
	if !mayRetry(t.Failure()) || int(t.Attempt) >= t.Failure().Retries || t.Gave() {
		return false
	}
	// A matrix that is not positive definite stays so in each attempt.
	var f interface{ Final() bool }
	return !errors.As(err, &f) || !f.Final()
}
