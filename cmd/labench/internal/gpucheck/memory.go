package gpucheck

import (
	"math"
	"time"
	"unsafe"

	"github.com/tessera-la/tessera/kernels/cuda"
)

// best returns the shortest time of several runs of f, after one warm-up run.
func best(times int, f func() error) (time.Duration, error) {
	shortest := time.Duration(math.MaxInt64)
	for i := range times + 1 {
		begin := time.Now()
		if err := f(); err != nil {
			return 0, err
		}
		if took := time.Since(begin); i > 0 {
			shortest = min(shortest, took)
		}
	}
	return max(shortest, 1), nil
}

// deviceMemory is memory and streams of a device that are freed together.
type deviceMemory struct {
	d    cuda.Device
	back []func() error // frees them, in order
	err  error          // the first error
}

// keep returns the result of ask, and registers back to free it. If ask fails, keep stores the error.
func keep[X any](r *deviceMemory, ask func() (X, error), back func(X) error) (x X) {
	if r.err != nil {
		return x
	}
	if x, r.err = ask(); r.err == nil {
		r.back = append(r.back, func() error { return back(x) })
	}
	return x
}

func (r *deviceMemory) alloc(n int64) cuda.Ptr {
	return keep(r, func() (cuda.Ptr, error) { return r.d.Alloc(n) }, r.d.Free)
}

func (r *deviceMemory) pinned(n int64) unsafe.Pointer {
	return keep(r, func() (unsafe.Pointer, error) { return r.d.AllocHost(n) }, r.d.FreeHost)
}

// stream must be called before memory is allocated, so that the stream is closed first.
func (r *deviceMemory) stream() cuda.Stream { return keep(r, r.d.NewStream, cuda.Stream.Close) }

// free frees everything. If *err is nil, it becomes the error of that.
func (r *deviceMemory) free(err *error) {
	for _, back := range r.back {
		*err = firstError(*err, back())
	}
}

// firstError returns the first error. Unlike errors.Join it keeps the type; later errors are mostly
// consequences of the first.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
