package cuda

import (
	"fmt"
	"slices"
	"time"
)

// A stream is a queue and a goroutine. Events are points in queues:
//
//	stream 1   │ gemm │ mark p │ …           Record(e): e's point is p from then on
//	                      │ p.reached is closed when the stream comes to it
//	stream 2   │ copy │ wait p │ gemm │      Wait(e): for the point of e at that moment
//	host                  └► Done, Synchronize, Since
//
// Each Record makes a new point, so an event may be recorded again while streams still
// wait for its previous point.

// NewStream implements [Device]. Streams are numbered from 1. Errors name a stream by its number.
func (d *Simulated) NewStream() (Stream, error) {
	if err := d.called("NewStream", ""); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, d.closedError("NewStream", "")
	}
	s := &simStream{d: d, name: fmt.Sprint(d.calls["NewStream"]), ended: make(chan struct{})}
	s.more.L = &s.mu
	d.streams = append(d.streams, s)
	go s.run()
	return s, nil
}

// run does the queued work until the stream is closed and the queue is empty. It takes the
// whole queue and works without the lock, so that callers can add work meanwhile.
func (s *simStream) run() {
	defer close(s.ended)
	for {
		s.mu.Lock()
		for len(s.queue) == 0 && !s.closed {
			s.more.Wait()
		}
		work := s.queue
		s.queue = nil
		s.mu.Unlock()
		if len(work) == 0 {
			return
		}
		for i := range work {
			s.execute(&work[i])
			work[i] = simWork{}
		}
	}
}

// execute does one piece of work. If the work fails, for example by an illegal address, the
// device is lost.
func (s *simStream) execute(w *simWork) {
	if w.always {
		w.do()
		return
	}
	if s.d.lostError(w.op, s.name) != nil {
		return
	}
	pause(s.d.jitter())
	if w.late {
		s.d.lose(&DeviceError{Op: w.op, Stream: s.name, Code: codeInjected, Reason: "injected"})
		return
	}
	if err := w.do(); err != nil {
		s.d.lose(err)
	}
}

// enqueue queues the work do of a method, unless a Fault makes the method fail. An error of
// do makes the device lost. enqueue itself returns the error of a fault, of a lost device or
// of a closed one.
func (s *simStream) enqueue(op string, do func() *DeviceError) error {
	late, err := s.d.count(op, s.name, true)
	if err != nil {
		return err
	}
	return s.add(simWork{op: op, do: do, late: late})
}

// add queues w, even if the device is lost.
func (s *simStream) add(w simWork) error {
	s.mu.Lock()
	closed := s.closed
	if !closed {
		s.queue = append(s.queue, w)
		s.more.Signal()
	}
	s.mu.Unlock()
	if closed {
		return s.d.misused(w.op, s.name, codeInvalid, "the stream is closed")
	}
	return nil
}

// stop makes the stream end after its queued work, and waits for the end.
func (s *simStream) stop() {
	s.mu.Lock()
	s.closed = true
	s.more.Signal()
	s.mu.Unlock()
	<-s.ended
}

// Close implements [Stream]. The stream does its queued work first. A second Close finds the
// goroutine ended and returns.
func (s *simStream) Close() error {
	s.d.mu.Lock()
	s.d.streams = slices.DeleteFunc(s.d.streams, func(t *simStream) bool { return t == s })
	s.d.mu.Unlock()
	s.stop()
	return s.d.lostError("Close", s.name)
}

// Record implements [Stream]. The event gets the new point after the point is queued. On a
// closed stream the event keeps its old point.
func (s *simStream) Record(e Event) error {
	ev, err := s.event("Record", e)
	if err != nil {
		return err
	}
	if err := s.d.called("Record", s.name); err != nil {
		return err
	}
	p, err := s.mark("Record")
	if err != nil {
		return err
	}
	ev.mu.Lock()
	ev.point = p
	ev.mu.Unlock()
	return nil
}

// mark queues a point. The stream comes to it even if the device is lost, so a goroutine
// that waits for the point has to ask afterwards whether the device is lost.
func (s *simStream) mark(op string) (*simPoint, error) {
	p := &simPoint{reached: make(chan struct{})}
	return p, s.add(simWork{op: op, always: true, do: func() *DeviceError {
		p.at = time.Now()
		close(p.reached)
		return nil
	}})
}

// Wait implements [Stream]. The goroutine of s sleeps until the stream that recorded the
// event has come to the point. A point is queued before any goroutine can wait for it, so
// streams never wait for one another in a circle.
func (s *simStream) Wait(e Event) error {
	ev, err := s.event("Wait", e)
	if err != nil {
		return err
	}
	if err := s.d.called("Wait", s.name); err != nil {
		return err
	}
	p := ev.last()
	if p == nil {
		return nil
	}
	return s.add(simWork{op: "Wait", always: true, do: func() *DeviceError {
		<-p.reached
		return nil
	}})
}

// Synchronize implements [Stream]. It returns the error of any earlier work, as a driver
// does.
func (s *simStream) Synchronize() error {
	if err := s.d.called("Synchronize", s.name); err != nil {
		return err
	}
	p, err := s.mark("Synchronize")
	if err != nil {
		return err
	}
	<-p.reached
	return s.d.lostError("Synchronize", s.name)
}

// event returns e as an event of the stream's device, or an error if it is of another one.
func (s *simStream) event(op string, e Event) (*simEvent, error) {
	ev, ok := e.(*simEvent)
	if !ok || ev.d != s.d {
		return nil, s.d.misused(op, s.name, codeInvalid, "an event of another device")
	}
	return ev, nil
}

// NewEvent implements [Device].
func (d *Simulated) NewEvent() (Event, error) {
	if err := d.called("NewEvent", ""); err != nil {
		return nil, err
	}
	return &simEvent{d: d}, nil
}

// last returns the point that was recorded last, or nil if none was.
func (e *simEvent) last() *simPoint {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.point
}

// Done implements [Event].
func (e *simEvent) Done() (bool, error) {
	if p := e.last(); p != nil {
		select {
		case <-p.reached:
		default:
			return false, nil
		}
	}
	return true, e.d.lostError("Done", "")
}

// Synchronize implements [Event].
func (e *simEvent) Synchronize() error {
	if p := e.last(); p != nil {
		<-p.reached
	}
	return e.d.lostError("Synchronize", "")
}

// Since implements [Event]. It takes the host's times at which the streams came to the
// points.
func (e *simEvent) Since(earlier Event) (float64, error) {
	if err := e.d.lostError("Since", ""); err != nil {
		return 0, err
	}
	from, ok := earlier.(*simEvent)
	if !ok {
		return 0, e.d.misused("Since", "", codeInvalid, "an event of another device")
	}
	var at [2]time.Time
	for i, p := range []*simPoint{from.last(), e.last()} {
		if p == nil {
			return 0, e.d.misused("Since", "", codeInvalid, "an event that was never recorded")
		}
		select {
		case <-p.reached:
			at[i] = p.at
		default:
			return 0, e.d.misused("Since", "", codeInvalid, "an event that has not been reached")
		}
	}
	return float64(at[1].Sub(at[0])) / float64(time.Millisecond), nil
}

// Close implements [Event]. The garbage collector frees the memory.
func (e *simEvent) Close() error { return nil }

// Each use of an engine has two steps, a time d apart:
//
//	       first                    second
//	time ───┼────── d (modelled) ─────┼───►
//
// The first step fills with NaN the memory that the second step will write. So a reader
// in between, which does not wait for the right event, reads NaN.

// newEngine returns an engine that is free.
func newEngine() engine { return engine{turn: make(chan struct{}, 1)} }

// use waits for its turn and does both steps. The second begins a time d after the first, or
// when the first has ended if that takes longer. In modelled time, uses follow one another
// without the pauses between them on the host, so a queue of short uses takes exactly the
// sum of their times.
func (e *engine) use(d time.Duration, first, second func()) {
	end := time.Now()
	e.turn <- struct{}{}
	defer func() { <-e.turn }()
	if e.free.After(end) {
		end = e.free
	}
	end = end.Add(d)
	first()
	// If the host took longer than the model, the model follows it.
	if now := time.Now(); now.Before(end) {
		pause(end.Sub(now))
	} else {
		end = now
	}
	second()
	e.free = end
}

// pause sleeps for the time d.
func pause(d time.Duration) {
	if d > 0 {
		time.Sleep(d)
	}
}

// jitter returns a random delay, so that streams overtake one another in tests. All streams
// draw from one sequence, so the delay of a stream depends on the order in which they draw.
func (d *Simulated) jitter() time.Duration {
	if d.opt.Jitter == 0 {
		return 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Duration(d.rnd.Int64N(int64(d.opt.Jitter)))
}
