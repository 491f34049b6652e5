package cuda

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tessera-la/tessera/versions"
)

// How a call starts. All of this file runs on the worker's goroutine, under
// Accelerator.mu but while it waits and while the version runs. So other goroutines
// may fetch, prefetch and poll between any two steps; what keeps their hands off
// the operands is that they are held.

// Launch starts a call. It waits until the operands have memory, and until those from the host
// are on their way, but not for the device. It returns an error if the call was not started:
// *[TooLargeError], *[NotStoredError], *[LostError] if an operand is lost, the device's, or the
// version's own.
//
// A version whose Run fails may have enqueued some of its work. Its outputs that the host had
// before then are as the host had them.
func (a *Accelerator) Launch(l *versions.Launch) error {
	return a.launch([]*versions.Launch{l})
}

// launch starts calls as one on the device. Its steps, in this order:
//
//	operands   finds out how large it is, and holds the entries
//	look       refuses what cannot be read any more
//	bring      reserves scratch memory first, then room for each operand, and has
//	           copies begin: the only step that waits for room
//	begin      has the stream wait, and marks the beginning
//	run        calls the version
//
// Until run nothing is enqueued that would have to be waited for, so that an error
// costs no more than what abandon does.
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

// operands returns the launch of all calls, with their operands, each value once, which
// it holds. An error leaves nothing behind: all sizes are known before the first entry
// is made. The caller holds mu.
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
			e := a.cache.entry(s, l.Job)
			k := slices.IndexFunc(r.ops, func(u use) bool { return u.e == e })
			if k < 0 {
				k = len(r.ops)
				r.ops = append(r.ops, use{e: e})
			}
			// A value that is several operands is read and written as all of them say.
			r.ops[k].how |= l.Uses[i]
		}
	}
	for _, u := range r.ops {
		a.cache.hold(u.e)
	}
	return r, nil
}

// look finds out whether what r reads is lost. It also counts hits, once for each
// value. The caller holds mu.
func (a *Accelerator) look(r *running) error {
	for _, u := range r.ops {
		// A call that could not be enqueued as a whole may still write here. What it
		// leaves is not wanted, and settle makes the entry what it was before: so
		// this waits, as it must not read in between.
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

// bring gives all operands of r room, and those that it reads their values, as
// far as onto the stream. The caller holds mu.
//
// When it returns nil, each operand has a block, which is held, and each that is
// read has its value there, or a copy on its stream (use.in), or a writer in
// flight. After repack it begins anew: what is free is one piece then, which is large enough
// for all of r.
func (a *Accelerator) bring(r *running, extra int64) error {
	// Scratch memory first: if it has no room, nothing was copied in vain. What the
	// version asks for later comes out of it.
	if extra > 0 {
		if _, err := a.scratch(r, roundUp(extra, grain), true); err != nil {
			return err
		}
	}
	// Operands are held, so that making room for one does not take that of another.
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
				// There is enough memory, but not in one piece. Afterwards everything
				// has to be placed and brought anew.
				if err := a.repack(r, extra); err != nil {
					return err
				}
				return a.bring(r, extra)
			}
		}
		if u.how&versions.Reads == 0 {
			continue
		}
		// With a writer in flight the value comes to be on the device: the stream
		// waits for that in begin.
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
	// Copies are all begun by now, so that they travel together while this waits.
	for _, u := range r.ops {
		// Until a copy is on its stream there is no event to wait for.
		for n := 0; u.in != nil && !u.in.staged && !u.in.over; n++ {
			a.pause(n)
		}
		// A value that is being written to the host must stay as it is meanwhile, and
		// one that is only written must not be overwritten by a copy that Prefetch
		// has begun.
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

// begin enqueues what r's stream has to wait for, and the event that marks r's
// beginning: calls are timed from there, without what they wait for. The caller holds
// mu. Streams are taken in turn. What r waits for, by operand:
//
//	its copy in                         the value is on the device
//	the call that writes it             read or write after write
//	the calls that read it, if r writes write after read
//
// None of that writes to an operand: if it fails, operands are what they were.
func (a *Accelerator) begin(r *running) (err error) {
	// Events only where another stream is concerned: on one stream work is in order.
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

// run has the version of r enqueue its work. From here on the call is in flight
// whatever happens: if the version fails, end still enters it among those that fly, and
// settle gives everything back. The caller holds mu, which is given up meanwhile.
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
	// Only now: a launch that was abandoned is no use of its operands.
	for _, u := range r.ops {
		a.cache.touch(u.e)
	}
	// Run may panic, or end the goroutine (t.Fatal does): then the work that it has
	// enqueued goes on, and keeps its memory until it has ended. So the end is
	// marked in any case, and failed is taken back only after the last step.
	r.failed = true
	defer a.end(r)
	err := a.enqueue(r)
	if err != nil {
		a.failed(err)
	}
	return err
}

// enqueue calls the version, and has its results copied behind it. The caller
// holds mu, which is given up meanwhile.
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
	// The integers of Queue.Ints go to the host behind the version's work, on the
	// same stream: when end is reached they are there.
	for i := range r.queues {
		q := &r.queues[i]
		for _, x := range q.results {
			if err := q.stream.CopyOut(x.dst, x.n, x.src, x.n, x.n, 1); err != nil {
				if len(r.launches) == 1 {
					return err
				}
				// The calls have been started, and cannot be again: all of them end
				// with the error.
				r.err = err
			}
		}
	}
	r.failed = false
	return nil
}

// poison fills what r only writes with NaN: that has no contents, and a version that reads it
// shows. Blocks stay where they are, as they are held.
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

// end marks the end of r's work, and has the entries know of it: later calls wait for
// it, and settle takes it off again. A call that has failed is in flight like others,
// as some of its work may be. If the end cannot be marked nothing would tell when the
// memory is free again: then the device is given up. The caller holds mu.
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

// abandon gives up a launch that has enqueued no work. Values that it copied in stay for the next
// one; blocks without a value go. The caller holds mu.
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

// LaunchBatch starts several calls of a version, with equal keys (see [versions.Batch]), as one;
// the device's time is divided among them. If it returns an error, none has started. The
// error is Launch's, for the call at fault or because the calls do not fit together on the
// device; that of the batch's Run; or a *[BatchError] if the calls cannot be one. If a batch's
// Run panics, what the calls write is undefined.
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
	// On the device the calls run at once: what one writes no other may use.
	writes := make(map[any]int) // by value, which call does
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
