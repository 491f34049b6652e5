//go:build cuda && linux

package cuda

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"github.com/tessera-la/tessera/kernels/cuda/internal/nvidia"
	"gorgonia.org/cu"
)

// The real devices are in these files:
//
//	real_driver.go     a device and a stream, errors, the current context
//	real_memory.go     memory of the device, and pinned memory
//	real_stream.go     streams, copies
//	real_event.go      events
//	real_blas.go       cuBLAS and cuSOLVER
//	real_kernels.go    the kernels of kernels.ptx
//	real.go            opens and closes a device
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
