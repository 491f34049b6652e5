//go:build cuda && linux

package cuda

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tessera-la/tessera/kernels/cuda/internal/nvidia"
	"gorgonia.org/cu"
)

// The real devices, in files by what they deal with:
//
//	real.go            opening and closing a device, errors, the current context
//	real_memory.go     memory of the device, and pinned memory
//	real_stream.go     streams, copies
//	real_event.go      events
//	real_blas.go       cuBLAS and cuSOLVER
//	real_kernels.go    the kernels of kernels.ptx
//
// They are compiled with the tag cuda, on Linux. CI has no such device: there they
// run on the fake libraries of testdata/fake, which hold callers to what NVIDIA's
// documentation says.

// Devices opens the machine's CUDA devices, of which there may be none: then
// the error is an *[UnavailableError] that says why. If only some of them can be
// used, it returns these, and an error for the others. The caller closes
// them. It needs a build with the tag cuda, for Linux.
func Devices() ([]Device, error) {
	if err := nvidia.OpenDriver(); err != nil {
		if code, ok := errors.AsType[nvidia.Code](err); ok && code.NoDevice() {
			return nil, &UnavailableError{NoDevice, err}
		}
		return nil, &UnavailableError{NoDriver, err}
	}
	n, err := cu.NumDevices()
	if err != nil {
		return nil, &UnavailableError{NoDriver, driverError(err)}
	}
	if n == 0 {
		return nil, &UnavailableError{NoDevice, errors.New("the driver reports 0 devices")}
	}
	version := cu.Version() // 12040 is CUDA 12.4
	libraries, err := nvidia.OpenLibraries(version / 1000)
	if err != nil {
		return nil, &UnavailableError{NoLibraries, err}
	}
	var devices []Device
	var errs []error
	for i := range n {
		d := &real{name: fmt.Sprintf("cuda%d", i), libraries: libraries,
			streams: map[*realStream]bool{}, memory: map[Ptr]bool{}, host: map[unsafe.Pointer]bool{}}
		if err := d.open(i, version); err != nil {
			errs = append(errs, &UnavailableError{NoAccess, err})
			continue
		}
		devices = append(devices, d)
	}
	return devices, errors.Join(errs...)
}

// real is a device of NVIDIA's driver. Its calls go two ways:
//
//	gorgonia.org/cu     memory, streams, events: in, locked
//	internal/nvidia     copies, pinned memory, kernels, cuBLAS, cuSOLVER: in C, one call each
//
// and what they return becomes a [DeviceError] in failed, which also notices that
// the device is lost. From then on usable answers for the driver.
//
// The driver keeps a current context per thread, and a goroutine changes
// threads: so every call sets it, within the same call into C where the
// function is ours, and otherwise with the goroutine locked to its thread for
// that long (see in). That costs some tens of nanoseconds. A goroutine that owns
// a thread and does all calls would cost two switches of goroutines for each,
// and would hold up those that may last, as Synchronize and Alloc.
type real struct {
	name      string
	info      Info
	libraries *nvidia.Libraries
	device    cu.Device
	// ctx is the primary context, which all of the process share, and current the
	// same for calls into C.
	ctx     cu.CUContext
	current nvidia.Context
	module  cu.Module      // the kernels of kernels.ptx
	vectors [2]cu.Function // CopyVectors, by Type
	upper   [2]cu.Function // CopyUpper and SetUpper
	larft   [2]cu.Function

	lost   atomic.Pointer[DeviceError] // how, once the device is lost
	closed atomic.Bool

	// mu guards what Close has to end: the primary context may have other users, and
	// then lives on with all that was allocated in it.
	mu      sync.Mutex
	streams map[*realStream]bool
	memory  map[Ptr]bool
	host    map[unsafe.Pointer]bool
}

// open takes the device's primary context, compiles the kernels, and learns
// what the libraries say of themselves.
//
// Other libraries in the process may use the same context: so nothing of it is set,
// and Close gives back only what is ours. What was taken when it fails is given back.
func (d *real) open(ordinal, version int) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var err error
	if d.device, err = cu.GetDevice(ordinal); err != nil {
		return d.failed("cuDeviceGet", "", err)
	}
	d.info = Info{Ordinal: ordinal}
	if d.info.Name, err = d.device.Name(); err != nil {
		return d.failed("cuDeviceGetName", "", err)
	}
	if d.info.Memory, err = d.device.TotalMem(); err != nil {
		return d.failed("cuDeviceTotalMem", "", err)
	}
	if d.ctx, err = d.device.RetainPrimaryCtx(); err != nil {
		return d.failed("cuDevicePrimaryCtxRetain", "", err)
	}
	if err := d.prepare(version); err != nil {
		return errors.Join(err, d.release())
	}
	return nil
}

// prepare does what needs the context, on the thread that has it. The libraries are
// asked for their versions by a stream that is closed again: that they can make
// their handles is known then, too.
func (d *real) prepare(version int) error {
	if err := cu.SetCurrentContext(d.ctx); err != nil {
		return d.failed("cuCtxSetCurrent", "", err)
	}
	var err error
	if d.current, err = nvidia.CurrentContext(); err != nil {
		return d.failed("cuCtxGetCurrent", "", err)
	}
	if err := d.compile(); err != nil {
		return err
	}
	s, err := d.newStream("info")
	if err != nil {
		return err
	}
	defer s.Close()
	h, err := s.libraries()
	if err != nil {
		return err
	}
	blas, solver, mode, err := h.Versions()
	if err != nil {
		return d.failed("cublasGetVersion", "", err)
	}
	d.info.Notes = append(notes(mode),
		fmt.Sprintf("driver for CUDA %d.%d", version/1000, version%1000/10),
		fmt.Sprintf("cuBLAS %d of CUDA %d, %s", blas, d.libraries.CUDA, d.libraries.Path),
		fmt.Sprintf("cuSOLVER %d", solver))
	return nil
}

// notes says how cuBLAS computes. The mode is the number of a cublasMath_t: that of
// CUBLAS_DEFAULT_MATH is 0, of CUBLAS_PEDANTIC_MATH 2. Results can only be compared
// with those of others when this is known.
func notes(mode int) []string {
	words := map[int]string{0: "default, neither TF32 nor emulation", 2: "pedantic"}
	all := []string{"cuBLAS's math mode: " + cmp.Or(words[mode], fmt.Sprint(mode))}
	// The environment overrides the mode.
	for _, name := range []string{"CUBLAS_EMULATE_DOUBLE_PRECISION", "CUBLAS_EMULATE_SINGLE_PRECISION",
		"CUBLAS_EMULATION_STRATEGY", "NVIDIA_TF32_OVERRIDE"} {
		if v, ok := os.LookupEnv(name); ok {
			all = append(all, name+"="+v+" in the environment may change the precision")
		}
	}
	return all
}

// Info implements [Device].
func (d *real) Info() Info { return d.info }

// usable returns the error with which every call on a lost or closed device fails.
// It says of a lost one how it was lost, which the driver would not.
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

// locked is in without a look at whether the device is usable, for what is to be
// given back, and with the driver's own errors.
func (d *real) locked(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cu.SetCurrentContext(d.ctx); err != nil {
		return err
	}
	return f()
}

// Close implements [Device]. Of a lost device nothing can be given back, and that is
// no error.
func (d *real) Close() error {
	if d.closed.Swap(true) {
		return nil
	}
	// What keep notes from now on finds no map, and its maker gives it back.
	d.mu.Lock()
	streams, memory, host := d.streams, d.memory, d.host
	d.streams, d.memory, d.host = nil, nil, nil
	d.mu.Unlock()
	var errs []error
	// Streams first, which waits for the work that uses the memory.
	for s := range streams {
		errs = append(errs, s.end())
	}
	for p := range memory {
		errs = append(errs, d.failed("cuMemFree", "", d.locked(func() error { return cu.MemFree(cu.DevicePtr(p)) })))
	}
	for p := range host {
		errs = append(errs, d.failed("cuMemFreeHost", "", d.current.FreeHost(p)))
	}
	errs = append(errs, d.release())
	if d.lost.Load() != nil {
		return nil // nothing of it was left to free
	}
	return errors.Join(errs...)
}

// release gives back the module and the primary context. The context itself goes when
// all of the process have given it back.
func (d *real) release() error {
	err := d.locked(func() error {
		if d.module == (cu.Module{}) {
			return nil
		}
		return d.module.Unload()
	})
	return errors.Join(d.failed("cuModuleUnload", "", err),
		d.failed("cuDevicePrimaryCtxRelease", "", d.device.ReleasePrimaryCtx()))
}

// driverError turns an error of gorgonia.org/cu, whose type is not exported,
// into one of package nvidia.
func driverError(err error) error {
	if v := reflect.ValueOf(err); v.Kind() == reflect.Int {
		return nvidia.Code{Library: nvidia.Driver, Value: int(v.Int())}
	}
	return err
}

// failed returns the *DeviceError for an error of a call, nil for none, and
// keeps it if it means that the device is lost. Errors that are one already
// are returned as they are.
//
// The driver reports errors of work late: the call that returns one need not be the
// call whose work has failed. Op and Stream say where it showed.
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

// failedCall is for calls of cuBLAS and cuSOLVER, which have codes of their
// own for an error of the device: it asks the driver what that was.
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

// invalid returns an error for arguments that are not given to the driver.
func (d *real) invalid(op, stream, format string, a ...any) error {
	return &DeviceError{Device: d.name, Op: op, Stream: stream, Code: codeInvalid, Reason: fmt.Sprintf(format, a...)}
}
