package cuda

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tessera-la/tessera/versions"
)

// This file starts calls. It runs on the worker's goroutine, under Accelerator.mu except
// while it waits and while the version runs. So other goroutines may fetch, prefetch and
// poll between any two steps. The operands are held, which keeps them where they are.

// Launch starts a call. It waits until the operands have memory, and until those from the host
// are on their way, but not for the device. It returns an error if the call was not started:
// *[TooLargeError], *[NotStoredError], *[LostError] if an operand is lost, the device's, or the
// version's own.
//
// A version whose Run fails may have enqueued some of its work. Outputs that were valid on the host
// before then have the host's value again.
func (a *Accelerator) Launch(l *versions.Launch) error {
	return a.launch([]*versions.Launch{l})
}

// launch starts calls as one on the device. Its steps, in this order:
//
//	operands   checks that the operands fit, and holds their entries
//	look       fails if a value to be read is lost
//	bring      reserves scratch memory, then room for each operand, and begins the
//	           copies in; only this step waits for room
//	begin      makes the stream wait for what the call needs, and marks the beginning
//	run        calls the version
//
// Before run, nothing is enqueued that would have to be waited for. So after an error
// abandon can release everything at once.
func (a *Accelerator) launch(all []*versions.Launch) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	defer a.tellCopies()
	if a.lost != nil {
		return a.lost
	}
	// extra is the scratch memory that the versions say they need, in bytes.
	var extra int64
	for _, l := range all {
		extra += roundUp(l.Version.Beside(&l.Call), grain)
	}
	r, err := a.operands(all, extra)
	if err != nil {
		return err
	}
	a.cache.now++
	if err = a.look(r); err == nil {
		err = a.bring(r, extra)
	}
	if err == nil {
		err = a.begin(r)
	}
	if err != nil {
		a.abandon(r)
		return err
	}
	return a.run(r)
}

// operands returns a running for all calls, with each value once, and holds the entries of
// the values. After an error nothing is held: all sizes are known before the first entry is
// made. The caller holds mu.
func (a *Accelerator) operands(all []*versions.Launch, extra int64) (*running, error) {
	r := &running{launches: all}
	var size int64
	var seen []versions.Stored
	for _, l := range all {
		var more int64
		var err error
		if seen, more, err = distinct(seen, l.Call.Args); err != nil {
			return nil, err
		}
		size += more
	}
	if err := a.fits(size, extra); err != nil {
		return nil, err
	}
	for _, l := range all {
		for i, v := range l.Call.Args {
			s, ok := v.(versions.Stored)
			if !ok {
				continue
			}
			e := a.cache.entryFor(s, l.Job)
			k := slices.IndexFunc(r.ops, func(u use) bool { return u.e == e })
			if k < 0 {
				k = len(r.ops)
				r.ops = append(r.ops, use{e: e})
			}
			// A value that is several operands has the uses of all of them.
			r.ops[k].how |= l.Uses[i]
		}
	}
	for _, u := range r.ops {
		a.cache.hold(u.e)
	}
	return r, nil
}

// look returns a *LostError if r reads a lost value. It also counts hits, once for each
// value. The caller holds mu.
func (a *Accelerator) look(r *running) error {
	for _, u := range r.ops {
		// A call that was enqueued only in part may still write here. r must not read
		// that, so it waits until settle has restored the entry's state.
		for n := 0; u.e.writer != nil && u.e.writer.failed; n++ {
			a.pause(n)
		}
		if u.e.lost && u.how&versions.Reads != 0 {
			return &LostError{Device: a.opt.Name, Err: a.lost}
		}
		if u.how&versions.Reads != 0 && (u.e.state != invalid || u.e.in) {
			a.stats.Hits++
		}
	}
	return nil
}

// bring finds room for all operands of r, and has the values that r reads copied in. It
// returns when these copies are on their stream. The caller holds mu.
//
// When it returns nil, each operand that has elements has a held block. For each value to
// be read, the block has the value, or a copy is on its stream (use.in), or a writer is in
// flight. After repack bring starts again: the free memory then is one piece that is large
// enough for all of r.
func (a *Accelerator) bring(r *running, extra int64) error {
	// Scratch memory comes first: if it finds no room, nothing was copied in vain. The
	// version's later requests are served from it.
	if extra > 0 {
		if _, err := a.scratch(r, roundUp(extra, grain), true); err != nil {
			return err
		}
	}
	// Operands are held, so room for one is not taken from another.
	for i := 0; i < len(r.ops); i++ {
		u := &r.ops[i]
		if u.e.size == 0 {
			continue // without elements it needs no room
		}
		if u.e.block == nil {
			stuck, err := a.makeRoom(u.e.size, func() (bool, *entry) { return a.cache.place(u.e, false) })
			if err != nil {
				return err
			}
			if stuck {
				// There is enough memory, but not in one piece. After repack all
				// operands have to be placed and copied again.
				if err := a.repack(r, extra); err != nil {
					return err
				}
				return a.bring(r, extra)
			}
		}
		if u.how&versions.Reads == 0 {
			continue
		}
		// A writer in flight will leave the value on the device. begin makes the stream
		// wait for it.
		if u.e.state == invalid && !u.e.in && u.e.writer == nil {
			a.startIn(u.e)
			r.copied += u.e.bytes()
		}
		if u.e.in {
			// Prefetch may have begun it, behind others.
			u.in = u.e.arriving
			a.in.hurry(u.e)
		}
	}
	// All copies have begun by now, so they run while this loop waits.
	for _, u := range r.ops {
		// Until a copy is on its stream there is no event to wait for.
		for n := 0; u.in != nil && !u.in.staged && !u.in.over; n++ {
			a.pause(n)
		}
		// A call must not write a value while it is copied to the host. A copy in that
		// Prefetch has begun must not overwrite what a call writes.
		for n := 0; u.how&versions.Writes != 0 && (u.e.out || u.how&versions.Reads == 0 && u.e.in); n++ {
			a.pause(n)
		}
		switch {
		case a.lost != nil:
			return a.lost
		case u.in != nil && u.in.err != nil:
			return u.in.err
		}
	}
	return nil
}

// begin makes r's stream wait for earlier work, and records the event at which the time of
// r begins, behind these waits. Calls take the streams in turn. The caller holds mu. For
// each operand r waits for
//
//	its copy in                         so that the value is on the device
//	the call that writes it             read or write after write
//	the calls that read it, if r writes write after read
//
// begin does not change an operand, also if it fails.
func (a *Accelerator) begin(r *running) (err error) {
	// Work on one stream runs in order, so r waits only for other streams.
	r.stream = a.turn
	a.turn = (a.turn + 1) % len(a.streams)
	s := a.streams[r.stream]
	for _, u := range r.ops {
		if u.in != nil && !u.in.over {
			err = errors.Join(err, s.Wait(u.in.done))
		}
		if w := u.e.writer; w != nil && w.stream != r.stream {
			err = errors.Join(err, s.Wait(w.end))
		}
		if u.how&versions.Writes != 0 {
			for _, o := range u.e.readers {
				if o.stream != r.stream {
					err = errors.Join(err, s.Wait(o.end))
				}
			}
		}
	}
	var e error
	for _, p := range []*Event{&r.begin, &r.end} {
		if *p, e = a.event(); e != nil {
			*p, err = nil, errors.Join(err, e)
		}
	}
	if err == nil {
		err = s.Record(r.begin)
	}
	if err != nil {
		a.failed(err)
	}
	return err
}

// run calls the version of r, which enqueues its work. From here on the call is in flight
// in any case: if the version fails, end still adds r to flying, and settle releases
// everything. The caller holds mu, which run unlocks while the version runs.
func (a *Accelerator) run(r *running) error {
	r.owner = a
	r.queues = make([]Queue, len(r.launches))
	for i, l := range r.launches {
		q := &r.queues[i]
		*q = Queue{device: a.device, stream: a.streams[r.stream], call: r}
		for _, v := range l.Call.Args {
			var o operand
			if e := a.find(v); e != nil {
				o.pitch = e.pitch
				if e.block != nil {
					o.at = Ptr(e.block.at)
				}
			}
			q.operands = append(q.operands, o)
		}
		l.Call.Device = q
	}
	// Only now, since an abandoned launch does not count as a use of its operands.
	for _, u := range r.ops {
		a.cache.touch(u.e)
	}
	// Run may panic, or end the goroutine as t.Fatal does. The work that it has enqueued
	// then goes on, and needs its memory until it has ended. So end is deferred, and
	// enqueue clears failed only after its last step.
	r.failed = true
	defer a.end(r)
	err := a.enqueue(r)
	if err != nil {
		a.failed(err)
	}
	return err
}

// enqueue calls the version, and enqueues the copies of its results behind its work. The
// caller holds mu, which enqueue unlocks meanwhile.
func (a *Accelerator) enqueue(r *running) error {
	a.mu.Unlock()
	defer a.mu.Lock()
	if a.opt.Poison {
		if err := r.poison(); err != nil {
			return err
		}
	}
	if err := r.call(); err != nil {
		return err
	}
	// The integers of Queue.Ints are copied to the host behind the version's work, on
	// the same stream. They have arrived when the event end is reached.
	for i := range r.queues {
		q := &r.queues[i]
		for _, x := range q.results {
			if err := q.stream.CopyOut(x.dst, x.n, x.src, x.n, x.n, 1); err != nil {
				if len(r.launches) == 1 {
					return err
				}
				// The calls of a batch have started and cannot start again, so all of
				// them end with the error.
				r.err = err
			}
		}
	}
	r.failed = false
	return nil
}

// poison fills the operands that r only writes with NaN. They have no contents yet, and the NaN
// reveal a version that reads them. Blocks stay where they are, as they are held.
func (r *running) poison() error {
	s := r.owner.streams[r.stream]
	for _, u := range r.ops {
		if u.how&versions.Reads == 0 && u.e.size > 0 {
			if err := s.Fill(Ptr(u.e.block.at), 0xff, u.e.size); err != nil {
				return err
			}
		}
	}
	return nil
}

// call calls the version, which enqueues on the stream of the queues and does not wait.
func (r *running) call() error {
	first := r.launches[0]
	if len(r.launches) == 1 {
		return first.Version.Run(&first.Call)
	}
	calls := make([]*versions.Call, len(r.launches))
	for i, l := range r.launches {
		calls[i] = &l.Call
	}
	return first.Version.Batch.Run(calls)
}

// end records the event at the end of r's work, and enters r in the entries of its
// operands, so that later calls wait for r. settle removes it again. A failed call is in
// flight like others, as some of its work may be. If the event cannot be recorded, nothing
// could tell when the memory is free again, so end declares the device lost. The caller
// holds mu.
func (a *Accelerator) end(r *running) {
	if a.lost == nil {
		if err := a.streams[r.stream].Record(r.end); err != nil {
			a.lose(err)
		}
	}
	for _, u := range r.ops {
		if u.how&versions.Writes != 0 {
			u.e.writer = r
		} else {
			u.e.readers = append(u.e.readers, r)
		}
	}
	if !r.failed {
		a.stats.Launches += int64(len(r.launches))
		if len(r.launches) > 1 {
			a.stats.Batches++
		}
	}
	if a.lost != nil {
		r.err = a.lost
		a.settle(r)
		return
	}
	a.flying = append(a.flying, r)
	a.early()
}

// abandon releases a launch that has enqueued no work. Values that it copied in stay on the device
// for the next launch. Blocks without a value are freed. The caller holds mu.
func (a *Accelerator) abandon(r *running) {
	for _, u := range r.ops {
		a.cache.release(u.e)
		if u.e.state == invalid && !u.e.busy() && u.e.block != nil {
			a.cache.drop(u.e)
		}
	}
	a.recycle(r.begin, r.end)
	a.giveBack(r)
}

// BatchError says that calls cannot start as one.
type BatchError struct{ Reason string }

func (e *BatchError) Error() string { return "cuda: no batch: " + e.Reason }

// LaunchBatch starts several calls of a version as one, and divides the device's time among them. The
// calls have equal keys (see [versions.Batch]). If it returns an error, no call has started. The error
// is a *[BatchError] if the calls cannot be one. Otherwise it is the error of the batch's Run, or one
// that Launch returns for one of the calls or for the operands of all calls together. If the batch's
// Run panics, the contents of the values that the calls write are undefined.
func (a *Accelerator) LaunchBatch(all []*versions.Launch) error {
	if len(all) == 1 {
		return a.Launch(all[0])
	}
	if err := batchable(all); err != nil {
		return err
	}
	return a.launch(all)
}

// batchable returns a *BatchError unless the calls can start as one.
func batchable(all []*versions.Launch) error {
	if len(all) == 0 || all[0].Version.Batch == nil {
		return &BatchError{"no calls, or of a version without batches"}
	}
	// The calls run at the same time on the device, so no call may use a value that another
	// one writes.
	writes := make(map[any]int) // the index of the call that writes a value
	for i, l := range all {
		if l.Version != all[0].Version {
			return &BatchError{fmt.Sprintf("versions %s and %s", all[0].Version.Name, l.Version.Name)}
		}
		for k, v := range l.Call.Args {
			if l.Uses[k]&versions.Writes != 0 {
				if w, ok := writes[v]; ok && w != i {
					return &BatchError{"two calls write the same value"}
				}
				writes[v] = i
			}
		}
	}
	for i, l := range all {
		for _, v := range l.Call.Args {
			if w, ok := writes[v]; ok && w != i {
				return &BatchError{"a call uses what another one writes"}
			}
		}
	}
	return nil
}
