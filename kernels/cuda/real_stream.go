//go:build cuda && linux

package cuda

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/tessera-la/tessera/kernels/cuda/internal/nvidia"
	"gorgonia.org/cu"
)

// This file has streams of the driver, and the copies and fills on them. Calls of
// gorgonia.org/cu go through in; those of package nvidia set the context themselves.
// Only Synchronize and Close wait for the device.

// NewStream implements [Device]. The stream's name in errors is the number of streams
// that are open already.
func (d *real) NewStream() (Stream, error) {
	d.mu.Lock()
	name := fmt.Sprint(len(d.streams))
	d.mu.Unlock()
	s, err := d.newStream(name)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// newStream is NewStream with a given name.
func (d *real) newStream(name string) (*realStream, error) {
	const op = "cuStreamCreate"
	s := &realStream{d: d, name: name}
	err := d.in(op, name, func() (err error) {
		// A non-blocking stream does not wait for the default stream, which a library
		// may use.
		s.s, err = cu.MakeStream(cu.NonBlocking)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := d.keep(op, func() { d.streams[s] = true }, s.s.Destroy); err != nil {
		return nil, err
	}
	return s, nil
}

// libraries returns the stream's handles. It makes them at the first call, which takes a
// while, since streams that only copy need none. Handles take memory of the device, for
// example cuBLAS's workspace. That is one reason why [Options].Memory leaves an eighth of
// the memory.
func (s *realStream) libraries() (*nvidia.Handles, error) {
	if err := s.usable("cublasCreate"); err != nil {
		return nil, err
	}
	if s.handles == nil {
		h, failed, err := s.d.libraries.Open(s.d.current, s.s)
		if err != nil {
			return nil, s.failedCall(failed, err)
		}
		s.handles = h
	}
	return s.handles, nil
}

// Synchronize implements [Stream]. It may return an error of any earlier work.
func (s *realStream) Synchronize() error { return s.in("cuStreamSynchronize", s.s.Synchronize) }

// Close implements [Stream]. Once the device is closed there is nothing left to do.
func (s *realStream) Close() error {
	if !drop(s.d, &s.d.streams, s) {
		return nil
	}
	return s.end()
}

// end waits for the stream's work and destroys the stream, after the handles that are
// bound to it. It is called once, by the Close of the stream or of the device that has
// removed the stream from the device's list.
func (s *realStream) end() error {
	s.done = true
	err := s.d.failed("cuStreamSynchronize", s.name, s.d.locked(s.s.Synchronize))
	if s.handles != nil {
		err = errors.Join(err, s.d.failed("cublasDestroy", s.name, s.handles.Close()))
	}
	return errors.Join(err, s.d.failed("cuStreamDestroy", s.name, s.d.locked(s.s.Destroy)))
}

// copy enqueues a copy of rows of width bytes, if there are any. It calls flat if the rows
// lie without gaps on both sides, and pitched otherwise. op is the name of flat's call.
func (s *realStream) copy(op string, dpitch, spitch, width int64, rows int, flat func(n int64) error,
	pitched func() error) error {
	if err := s.usable(op); err != nil {
		return err
	}
	switch {
	case width < 0 || rows < 0 || rows > 1 && (dpitch < width || spitch < width):
		return s.d.invalid(op, s.name, "%d rows of %d bytes, %d and %d apart", rows, width, spitch, dpitch)
	case width == 0 || rows == 0:
		return nil
	case rows == 1 || dpitch == width && spitch == width:
		return s.in(op, func() error { return flat(width * int64(rows)) })
	}
	return s.d.failed("cuMemcpy2DAsync", s.name, pitched())
}

// CopyIn implements [Stream]. If src is not pinned, the driver copies it to pinned memory
// first, and the call may last as long as that copy.
func (s *realStream) CopyIn(dst Ptr, dpitch int64, src unsafe.Pointer, spitch, width int64, rows int) error {
	return s.copy("cuMemcpyHtoDAsync", dpitch, spitch, width, rows,
		func(n int64) error { return cu.MemcpyHtoDAsync(cu.DevicePtr(dst), src, n, s.s) },
		func() error { return s.d.current.CopyIn(s.s, uintptr(dst), dpitch, src, spitch, width, rows) })
}

// CopyOut implements [Stream].
func (s *realStream) CopyOut(dst unsafe.Pointer, dpitch int64, src Ptr, spitch, width int64, rows int) error {
	return s.copy("cuMemcpyDtoHAsync", dpitch, spitch, width, rows,
		func(n int64) error { return cu.MemcpyDtoHAsync(dst, cu.DevicePtr(src), n, s.s) },
		func() error { return s.d.current.CopyOut(s.s, dst, dpitch, uintptr(src), spitch, width, rows) })
}

// Copy implements [Stream].
func (s *realStream) Copy(dst Ptr, dpitch int64, src Ptr, spitch, width int64, rows int) error {
	return s.copy("cuMemcpyDtoDAsync", dpitch, spitch, width, rows,
		func(n int64) error { return cu.MemcpyDtoDAsync(cu.DevicePtr(dst), cu.DevicePtr(src), n, s.s) },
		func() error { return s.d.current.Copy(s.s, uintptr(dst), dpitch, uintptr(src), spitch, width, rows) })
}

// Fill implements [Stream] by cuMemsetD8Async.
func (s *realStream) Fill(dst Ptr, value byte, n int64) error {
	const op = "cuMemsetD8Async"
	if n < 0 {
		return s.d.invalid(op, s.name, "%d bytes", n)
	}
	if n == 0 {
		return s.usable(op)
	}
	return s.in(op, func() error { return cu.MemsetD8Async(cu.DevicePtr(dst), value, n, s.s) })
}
