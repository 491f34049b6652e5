//go:build cuda && linux

package cuda

import (
	"github.com/tessera-la/tessera/kernels/cuda/internal/nvidia"
	"gorgonia.org/cu"
)

// realEvent is an event of the driver that records times. The driver keeps the rule of [Event] for
// an event that was never recorded: it is done, and a wait for it returns at once.
//
// Methods that take an Event panic if it is not a *realEvent.
type realEvent struct {
	d     *real
	event cu.Event
}

// NewEvent implements [Device].
func (d *real) NewEvent() (Event, error) {
	e := &realEvent{d: d}
	err := d.in("cuEventCreate", "", func() (err error) {
		// The waiting thread sleeps: the cores belong to the CPU workers.
		e.event, err = cu.MakeEvent(cu.BlockingSyncEvent)
		return err
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

// Record implements [Stream] by cuEventRecord.
func (s *realStream) Record(e Event) error {
	return s.in("cuEventRecord", func() error { return e.(*realEvent).event.Record(s.s) })
}

// Wait implements [Stream] by cuStreamWaitEvent. It waits for the latest record of the event before
// this call.
func (s *realStream) Wait(e Event) error {
	return s.in("cuStreamWaitEvent", func() error { return s.s.Wait(e.(*realEvent).event, 0) })
}

// Done implements [Event] by cuEventQuery. It also returns errors of work that was enqueued before
// the event.
func (e *realEvent) Done() (bool, error) {
	const op = "cuEventQuery"
	if err := e.d.usable(op, ""); err != nil {
		return false, err
	}
	err := driverError(e.d.locked(e.event.Query))
	if code, ok := err.(nvidia.Code); ok && code.NotReady() {
		return false, nil
	}
	return err == nil, e.d.failed(op, "", err)
}

// Synchronize implements [Event] by cuEventSynchronize. The thread sleeps meanwhile.
func (e *realEvent) Synchronize() error { return e.d.in("cuEventSynchronize", "", e.event.Synchronize) }

// Since implements [Event] by cuEventElapsedTime, which has a resolution of about half a microsecond.
func (e *realEvent) Since(earlier Event) (float64, error) {
	var ms float64
	err := e.d.in("cuEventElapsedTime", "", func() (err error) {
		ms, err = earlier.(*realEvent).event.Elapsed(e.event)
		return err
	})
	return ms, err
}

// Close implements [Event].
func (e *realEvent) Close() error {
	if e.event == (cu.Event{}) || e.d.closed.Load() {
		return nil // closed already, or destroyed with the context
	}
	return e.d.failed("cuEventDestroy", "", e.d.locked(func() error { return cu.DestroyEvent(&e.event) }))
}
