package topo

import (
	"errors"
	"runtime"
)

// ErrUnsupported is returned where the operating system has no call for a
// thread's affinity.
var ErrUnsupported = errors.New("topo: thread affinity is not supported on this operating system")

// Lock binds the calling goroutine to its operating system thread
// ([runtime.LockOSThread]) and that thread to cpus. Release undoes both, is
// called on the same goroutine, and is never nil: if err is not nil, the
// goroutine is locked to its thread, but the thread may run anywhere.
//
// If the thread's former affinity cannot be restored, release leaves the
// goroutine locked, so that the thread ends with it and no other goroutine
// inherits the pin.
func Lock(cpus ...int) (release func(), err error) {
	runtime.LockOSThread()
	before, err := Affinity()
	if err != nil {
		return runtime.UnlockOSThread, err
	}
	if err := Pin(cpus...); err != nil {
		return runtime.UnlockOSThread, err
	}
	return func() {
		if Pin(before...) == nil {
			runtime.UnlockOSThread()
		}
	}, nil
}
