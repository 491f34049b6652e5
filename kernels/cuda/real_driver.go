//go:build cuda && linux

package cuda

import (
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tessera-la/tessera/kernels/cuda/internal/nvidia"
	"gorgonia.org/cu"
)

// real is a device of NVIDIA's driver. Its calls go two ways:
//
//	gorgonia.org/cu     memory, streams, events: in, locked
//	internal/nvidia     copies, pinned memory, kernels, cuBLAS, cuSOLVER: in C, one call each
//
// failed turns the errors of both into a [DeviceError], and notices if the device is
// lost. From then on usable returns the error without a call of the driver.
//
// The driver keeps a current context for each thread, and a goroutine changes threads.
// So every call sets the context: in the same call into C if the function is ours, and
// otherwise with the goroutine locked to its thread (see in). That costs some tens of
// nanoseconds. The alternative, a goroutine that owns a thread and does all calls, would
// cost two switches of goroutines for each call. A long call such as Synchronize or Alloc
// would also block all others.
type real struct {
	name      string
	info      Info
	libraries *nvidia.Libraries
	device    cu.Device
	// ctx is the primary context, which the whole process shares. current is the same
	// for calls into C.
	ctx     cu.CUContext
	current nvidia.Context
	module  cu.Module      // the kernels of kernels.ptx
	vectors [2]cu.Function // CopyVectors, by Type
	upper   [2]cu.Function // CopyUpper and SetUpper
	larft   [2]cu.Function

	lost   atomic.Pointer[DeviceError] // how, once the device is lost
	closed atomic.Bool

	// mu guards the streams and the memory that Close has to free. If the primary
	// context has other users, it lives on with everything that was allocated in it.
	mu      sync.Mutex
	streams map[*realStream]bool
	memory  map[Ptr]bool
	host    map[unsafe.Pointer]bool
}

// realStream is a stream of the driver. It gets handles of cuBLAS and cuSOLVER of its
// own when it first needs them.
type realStream struct {
	d    *real
	name string // in errors: its number
	s    cu.Stream
	// handles belong to this stream only, and are bound to it once. Shared handles would
	// have to be bound again for each call, under a lock.
	handles *nvidia.Handles
	done    bool // the stream was closed
}

// usable returns the error of a lost or closed device, or nil. Unlike the driver, the
// error says how the device was lost.
func (d *real) usable(op, stream string) error {
	if lost := d.lost.Load(); lost != nil {
		e := *lost
		e.Op, e.Stream = op, stream
		return &e
	}
	if d.closed.Load() {
		return &DeviceError{Device: d.name, Op: op, Stream: stream, Code: codeInvalid, Reason: "the device is closed"}
	}
	return nil
}

// in runs f, which calls gorgonia.org/cu, with the device's context current.
func (d *real) in(op, stream string, f func() error) error {
	if err := d.usable(op, stream); err != nil {
		return err
	}
	return d.failed(op, stream, d.locked(f))
}

// locked is in without the check that the device is usable, so that it can free memory. It
// returns the driver's own errors.
func (d *real) locked(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cu.SetCurrentContext(d.ctx); err != nil {
		return err
	}
	return f()
}

// usable returns the error of a closed stream, or of its device, or nil.
func (s *realStream) usable(op string) error {
	if s.done && !s.d.closed.Load() {
		return s.d.invalid(op, s.name, "the stream is closed")
	}
	return s.d.usable(op, s.name)
}

// in runs f, which calls gorgonia.org/cu, with the device's context current.
func (s *realStream) in(op string, f func() error) error {
	if err := s.usable(op); err != nil {
		return err
	}
	return s.d.failed(op, s.name, s.d.locked(f))
}

// driverError turns an error of gorgonia.org/cu, whose type is not exported,
// into one of package nvidia.
func driverError(err error) error {
	if v := reflect.ValueOf(err); v.Kind() == reflect.Int {
		return nvidia.Code{Library: nvidia.Driver, Value: int(v.Int())}
	}
	return err
}

// failed returns the *DeviceError for an error of the driver or a library, and nil for
// nil. If the error means that the device is lost, it keeps the *DeviceError. It
// returns other errors unchanged.
//
// The driver reports errors of work late: the call that returns an error need not be
// the call whose work has failed. Op and Stream name the call that returned it.
func (d *real) failed(op, stream string, err error) error {
	if err == nil {
		return nil
	}
	err = driverError(err)
	code, ok := err.(nvidia.Code)
	if !ok {
		return err
	}
	e := &DeviceError{Device: d.name, Op: op, Stream: stream, Code: code.Value, Reason: code.Error(), Lost: code.Lost()}
	if e.Lost {
		d.lost.CompareAndSwap(nil, e)
	}
	return e
}

// failedCall is failed for calls of cuBLAS and cuSOLVER. They have codes of their own
// for an error of the device, so failedCall asks the driver whether the device is lost.
func (s *realStream) failedCall(op string, err error) error {
	if err == nil {
		return nil
	}
	if code, ok := err.(nvidia.Code); ok && code.Library != nvidia.Driver {
		asked := driverError(s.d.locked(s.s.Query))
		if under, ok := asked.(nvidia.Code); ok && under.Lost() {
			err = under
		}
	}
	return s.d.failed(op, s.name, err)
}

// invalid returns an error for arguments that are wrong, without a call of the driver.
func (d *real) invalid(op, stream, format string, a ...any) error {
	return &DeviceError{Device: d.name, Op: op, Stream: stream, Code: codeInvalid, Reason: fmt.Sprintf(format, a...)}
}
