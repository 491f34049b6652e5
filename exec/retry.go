package exec

import (
	"errors"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/offload"
	"github.com/tessera-la/tessera/versions"
)

// A task that is tried again has to find what its first attempt found. What it only reads
// nobody changes, and what it only writes it writes anew. What it updates in place is
// saved before the first attempt, on the host, and restored after each that has failed.
// Without retries nothing is saved, and nothing asked of values.

// mayRetry reports whether a task is to be tried again if it fails.
func mayRetry(f *graph.Failure) bool { return f != nil && f.Retries > 0 }

// checkRestorable panics with ErrNotRestorable if s has retries and cannot be
// retried, or if it is a child and gives a datum a value that cannot be put back. The
// copies of a reduction are of the datum's own type.
func checkRestorable(s *graph.Spec, child bool) {
	if !mayRetry(s.Failure) && !child {
		return
	}
	for i, o := range s.Operands {
		// One datum may be there twice, to be read and to be written: an update.
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

// saves reports whether the next attempt at t has to save what it changes in place: the
// first one, if there may be a second.
func saves(t *graph.Task) bool { return mayRetry(t.Failure()) && t.Kept() == nil }

// save keeps with t, before its first attempt, snapshots of what it updates in
// place: by operand, nil for others. They go when t ends.
func save(t *graph.Task) {
	kept := make([]versions.Value, t.Len())
	for i := range kept {
		if t.Operand(i).Mode.InPlace() {
			kept[i] = t.Value(i).(versions.Value).Snapshot()
		}
	}
	t.Keep(kept)
}

// restore undoes what a failed attempt has done to what t updates in place, on the host
// and on devices. It reports false if that panics.
func restore(t *graph.Task, devices offload.Devices) (ok bool) {
	defer func() { ok = recover() == nil && ok }()
	kept, _ := t.Kept().([]versions.Value)
	// What devices have of it first: it is what the failed attempt has made.
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

// retriable reports whether t, which has failed with err, has an attempt left. What
// was handed on may have been used, and changed, already; and some errors say that
// another attempt would fail as well.
func retriable(t *graph.Task, err error) bool {
	if !mayRetry(t.Failure()) || int(t.Attempt) >= t.Failure().Retries || t.Gave() {
		return false
	}
	// Matrices that are not positive definite are so at each attempt.
	var f interface{ Final() bool }
	return !errors.As(err, &f) || !f.Final()
}
