//go:build cuda && linux

package cuda

import (
	"github.com/tessera-la/tessera/kernels/cuda/internal/nvidia"
	"gorgonia.org/cu"
)

// realEvent is an event of the driver, with times. One that was never recorded is
// done, and a wait for it ends at once: the driver has it as [Event] says.
type realEvent struct {
	d *real
	e cu.Event
}

// NewEvent implements [Device].
func (d *real) NewEvent() (Event, error) {
	e := &realEvent{d: d}
	err := d.in("cuEventCreate", "", func() (err error) {
		// Who waits for it sleeps: the cores are the CPU workers'.
		e.e, err = cu.MakeEvent(cu.BlockingSyncEvent)
		return err
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

// Record implements [Stream] by cuEventRecord. It panics for an event of another kind
// of device.
func (s *realStream) Record(e Event) error {
	return s.in("cuEventRecord", func() error { return e.(*realEvent).e.Record(s.s) })
}

// Wait implements [Stream] by cuStreamWaitEvent: for the event as it was recorded last
// when this is called.
func (s *realStream) Wait(e Event) error {
	return s.in("cuStreamWaitEvent", func() error { return s.s.Wait(e.(*realEvent).e, 0) })
}

// Done implements [Event]. The driver returns errors of any work before the event
// here, as everywhere.
func (e *realEvent) Done() (bool, error) {
	const op = "cuEventQuery"
	if err := e.d.usable(op, ""); err != nil {
		return false, err
	}
	err := driverError(e.d.locked(e.e.Query))
	if code, ok := err.(nvidia.Code); ok && code.NotReady() {
		return false, nil
	}
	return err == nil, e.d.failed(op, "", err)
}

// Synchronize implements [Event] by cuEventSynchronize, with the thread asleep.
func (e *realEvent) Synchronize() error { return e.d.in("cuEventSynchronize", "", e.e.Synchronize) }

// Since implements [Event] by cuEventElapsedTime, which is exact to about half a
// microsecond.
func (e *realEvent) Since(earlier Event) (float64, error) {
	var ms float64
	err := e.d.in("cuEventElapsedTime", "", func() (err error) {
		ms, err = earlier.(*realEvent).e.Elapsed(e.e)
		return err
	})
	return ms, err
}

// Close implements [Event].
func (e *realEvent) Close() error {
	if e.e == (cu.Event{}) || e.d.closed.Load() {
		return nil // the driver has ended it with the context
	}
	return e.d.failed("cuEventDestroy", "", e.d.locked(func() error { return cu.DestroyEvent(&e.e) }))
}
