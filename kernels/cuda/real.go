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

// The real devices are in these files:
//
//	real.go            opening and closing a device, errors, the current context
//	real_memory.go     memory of the device, and pinned memory
//	real_stream.go     streams, copies
//	real_event.go      events
//	real_blas.go       cuBLAS and cuSOLVER
//	real_kernels.go    the kernels of kernels.ptx
//
// They are compiled with the tag cuda, on Linux. CI has no such device, and runs them on
// the fake libraries of testdata/fake, which check that callers obey NVIDIA's
// documentation.

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

	// mu guards the lists of what Close has to free. If the primary context has other
	// users it lives on, with everything that was allocated in it.
	mu      sync.Mutex
	streams map[*realStream]bool
	memory  map[Ptr]bool
	host    map[unsafe.Pointer]bool
}

// open retains the device's primary context, compiles the kernels, and asks the
// libraries for their versions. If it fails, it releases everything.
//
// Other libraries in the process may use the same context. So open changes no setting
// of it, and Close frees only what this package allocated.
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

// prepare does the steps of open that need the context, on the thread that has it. It
// asks the libraries for their versions through a stream that it closes again. That
// also shows that the libraries can make their handles.
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

// notes describes the precision in which cuBLAS computes, without which results cannot
// be compared with those of others. mode is a cublasMath_t: CUBLAS_DEFAULT_MATH is 0,
// CUBLAS_PEDANTIC_MATH is 2.
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

// Close implements [Device]. Nothing of a lost device can be freed, which is no error.
func (d *real) Close() error {
	if d.closed.Swap(true) {
		return nil
	}
	// From now on keep finds no map, and its caller frees the allocation itself.
	d.mu.Lock()
	streams, memory, host := d.streams, d.memory, d.host
	d.streams, d.memory, d.host = nil, nil, nil
	d.mu.Unlock()
	var errs []error
	// Streams end first: that waits for the work that uses the memory.
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

// release unloads the module and releases the primary context. The driver destroys the
// context when all its users in the process have released it.
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
