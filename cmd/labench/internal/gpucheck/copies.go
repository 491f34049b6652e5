package gpucheck

import (
	"runtime"
	"time"
	"unsafe"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// copies measures bandwidths and latencies.
func (c *check) copies() {
	c.within("copies", 16<<20, func(a *cuda.Accelerator) {
		for _, memory := range []string{"pinned", "pageable", "device"} {
			c.point("copies, "+memory, 2*time.Second, func() error {
				row, err := copying(a.Device(), memory, c.sizes.copied, c.sizes.times)
				if err == nil {
					c.report.Copies = append(c.report.Copies, row)
				}
				return err
			})
		}
		c.point("latency", time.Second, func() error {
			l, err := latency(&station{a: a}, 20*c.sizes.times)
			if err == nil {
				c.report.Latency = &l
			}
			return err
		})
	})
}

// copying measures one row of the bandwidths.
func copying(d cuda.Device, memory string, bytes int64, times int) (row Copies, err error) {
	row = Copies{Memory: memory, Bytes: bytes}
	r := &deviceMemory{d: d}
	defer r.free(&err)
	s, t := r.stream(), r.stream()
	x, y := r.alloc(bytes), r.alloc(bytes)
	var from, to unsafe.Pointer
	switch memory {
	case "pinned":
		from, to = r.pinned(bytes), r.pinned(bytes)
		if r.err == nil {
			touch(from, bytes)
			touch(to, bytes)
		}
	case "pageable":
		a, b := make([]byte, bytes), make([]byte, bytes)
		defer runtime.KeepAlive(a)
		defer runtime.KeepAlive(b)
		from, to = unsafe.Pointer(&a[0]), unsafe.Pointer(&b[0])
		touch(from, bytes)
		touch(to, bytes)
	}
	if r.err != nil {
		return row, r.err
	}
	if err := firstError(s.Fill(x, 0, bytes), s.Fill(y, 0, bytes), s.Synchronize()); err != nil {
		return row, err
	}
	rate := func(bytes int64, f func() error) (float64, error) {
		took, err := best(times, f)
		return float64(bytes) / took.Seconds() / 1e9, err
	}
	if memory == "device" {
		row.In, err = rate(2*bytes, func() error { return firstError(s.Copy(y, bytes, x, bytes, bytes, 1), s.Synchronize()) })
		return row, err
	}
	if row.In, err = rate(bytes, func() error { return firstError(s.CopyIn(x, bytes, from, bytes, bytes, 1), s.Synchronize()) }); err != nil {
		return row, err
	}
	if row.Out, err = rate(bytes, func() error { return firstError(s.CopyOut(to, bytes, y, bytes, bytes, 1), s.Synchronize()) }); err != nil {
		return row, err
	}
	// A copy from pageable memory may block until it is done. So each direction has its own goroutine.
	row.Both, err = rate(2*bytes, func() error {
		back := make(chan error, 1)
		go func() { back <- firstError(t.CopyOut(to, bytes, y, bytes, bytes, 1), t.Synchronize()) }()
		err := firstError(s.CopyIn(x, bytes, from, bytes, bytes, 1), s.Synchronize())
		return firstError(err, <-back)
	})
	return row, err
}

// touch writes to all pages, so that the system allocates them.
func touch(p unsafe.Pointer, n int64) {
	b := unsafe.Slice((*byte)(p), n)
	for i := int64(0); i < n; i += 512 {
		b[i] = 1
	}
}

// latency measures the latencies of the smallest operations.
func latency(on *station, times int) (l Latency, err error) {
	d := on.a.Device()
	r := &deviceMemory{d: d}
	defer r.free(&err)
	s, x, h := r.stream(), r.alloc(256), r.pinned(8)
	if r.err != nil {
		return l, r.err
	}
	if err := firstError(s.Fill(x, 0, 256), s.Synchronize()); err != nil {
		return l, err
	}
	measure := func(us *float64, f func() error) error {
		took, err := best(times, f)
		*us = took.Seconds() * 1e6
		return err
	}
	a := cuda.Matrix{Data: x, Ld: 1}
	gemm := func() error {
		return firstError(s.Gemm(cuda.F64, blas.NoTrans, blas.NoTrans, 1, 1, 1, 1, a, a, 0, cuda.Matrix{Data: x + 8, Ld: 1}), s.Synchronize())
	}
	args := []any{}
	for range 3 {
		args = append(args, &tile[float64]{Rows: 1, Cols: 1, Stride: 1, Data: make([]float64, 1)})
	}
	v := kernels.For[float64](op.NewTable()).Op("gemm").Version("cuda")
	small := func() error {
		p := &op.Gemm[float64]{TransA: blas.NoTrans, TransB: blas.NoTrans, Alpha: 1, Beta: 1}
		return firstError(on.start(v, p, args, []versions.Use{in, in, inout}), on.wait(0))
	}
	err = firstError(
		measure(&l.Copy, func() error { return firstError(s.CopyIn(x, 8, h, 8, 8, 1), s.Synchronize()) }),
		measure(&l.Gemm, gemm), measure(&l.Tile, small), on.flush())
	return l, err
}
