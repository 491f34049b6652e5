package gpucheck

import (
	"fmt"
	"runtime"
	"time"
	"unsafe"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// nearUnit makes an n×n matrix on the device that is close to the unit matrix, with periodic elements. So it
// can be factored in place many times.
func nearUnit[T kernels.Element](s cuda.Stream, p cuda.Ptr, n int) error {
	const piece = 1 << 21 // elements
	typ, _ := typeOf[T]()
	all := int64(n) * int64(n)
	data, ones := make([]T, min(all, piece)), make([]T, n)
	for i := range data {
		data[i] = T(0.01 / float64(n) * element(i))
	}
	for i := range ones {
		ones[i] = 1
	}
	size, first := typ.Size(), int64(len(data))*typ.Size()
	err := firstError(s.CopyIn(p, first, unsafe.Pointer(&data[0]), first, first, 1), s.Synchronize())
	for done := first; done < all*size && err == nil; done += first {
		part := min(first, all*size-done)
		err = s.Copy(p+cuda.Ptr(done), part, p, part, part, 1)
	}
	err = firstError(err, s.CopyIn(p, int64(n+1)*size, unsafe.Pointer(&ones[0]), size, size, n), s.Synchronize())
	runtime.KeepAlive(data)
	runtime.KeepAlive(ones)
	return err
}

// library is a routine of cuBLAS or cuSOLVER on n×n matrices in device memory. All of them are close to the
// unit matrix.
type library struct {
	op              string // the tile op that does the same with transposes, "geqrf" or "getrf"
	typ             cuda.Type
	n               int
	beta            float64 // of gemm
	s               cuda.Stream
	in, out         []cuda.Matrix // read by all calls; written by each call in turn
	work, info, tau cuda.Ptr      // tau has the pivots of getrf
	own             unsafe.Pointer
}

func newLibrary[T kernels.Element](r *deviceMemory, op string, n, ins, outs int) (*library, error) {
	typ, _ := typeOf[T]()
	l := &library{op: op, typ: typ, n: n, s: r.stream(), info: r.alloc(256), tau: r.alloc(8 * int64(n))}
	square := func() cuda.Matrix {
		m := cuda.Matrix{Data: r.alloc(int64(n) * int64(n) * typ.Size()), Ld: n}
		if r.err == nil {
			r.err = nearUnit[T](l.s, m.Data, n)
		}
		return m
	}
	for range ins {
		l.in = append(l.in, square())
	}
	for range outs {
		l.out = append(l.out, square())
	}
	bytes := int64(256)
	if r.err == nil && op == "potrf" {
		bytes, r.err = l.s.PotrfWork(typ, blas.Lower, n, l.out[0])
	}
	if r.err == nil && op == "geqrf" {
		bytes, r.err = l.s.GeqrfWork(typ, n, n, l.out[0])
	}
	if r.err == nil && op == "getrf" {
		var host int64
		bytes, host, r.err = l.s.GetrfWork(typ, n, n, l.out[0])
		l.own = r.pinned(max(host, 1))
	}
	l.work = r.alloc(max(bytes, 256))
	if r.err != nil {
		return nil, r.err
	}
	return l, firstError(l.s.Fill(l.info, 0, 256), l.s.Synchronize())
}

// call starts the i-th call.
func (l *library) call(i int) error {
	s, n, out := l.s, l.n, l.out[i%len(l.out)]
	switch l.op {
	case "gemm":
		return s.Gemm(l.typ, blas.NoTrans, blas.NoTrans, n, n, n, 1, l.in[1], l.in[0], l.beta, out)
	case "syrk":
		return s.Syrk(l.typ, blas.Lower, blas.NoTrans, n, n, 1, l.in[0], 1, out)
	case "trsm":
		return s.Trsm(l.typ, blas.Right, blas.Lower, blas.Trans, blas.NonUnit, n, n, 1, l.in[0], out)
	case "potrf":
		return s.Potrf(l.typ, blas.Lower, n, out, l.work, l.info)
	case "getrf":
		return s.Getrf(l.typ, n, n, out, l.tau, l.work, l.own, l.info)
	}
	return s.Geqrf(l.typ, n, n, out, l.tau, l.work, l.info)
}

// time returns the duration of the given number of calls.
func (l *library) time(times int) (time.Duration, error) {
	begin := time.Now()
	for i := range times {
		if err := l.call(i); err != nil {
			return 0, err
		}
	}
	err := l.s.Synchronize()
	return time.Since(begin), err
}

// raw returns the GFLOP/s of the library's routine for p.
func raw[T kernels.Element](on *cuda.Accelerator, p problem, times int) (rate float64, err error) {
	r := &deviceMemory{d: on.Device()}
	defer r.free(&err)
	op, ins := map[string]string{"gemm": "gemm", "cholesky": "potrf", "lu": "getrf", "qr": "geqrf"}[p.op], 0
	if op == "gemm" {
		ins = 2
	}
	l, err := newLibrary[T](r, op, p.n, ins, 1)
	if err != nil {
		return 0, err
	}
	took, err := best(times, func() error { _, err := l.time(1); return err })
	var found int32
	if err := firstError(err, l.s.CopyOut(unsafe.Pointer(&found), 4, l.info, 4, 4, 1), l.s.Synchronize()); err != nil {
		return 0, err
	}
	if found != 0 {
		return 0, fmt.Errorf("gpucheck: the library's info is %d for %s of a matrix that it can factor", found, p.op)
	}
	return flops(p) / took.Seconds() / 1e9, nil
}

// residentGemm returns the GFLOP/s of the product p in tiles that are all on the device. Calls are in order of
// k, so that concurrent calls write different tiles.
func residentGemm[T kernels.Element](a *cuda.Accelerator, p problem, times int) (rate float64, err error) {
	_, name := typeOf[T]()
	gemm := op.NewTable().Op("gemm", name)
	v := gemm.Version("cuda")
	n, nb := p.n, p.resident
	k := (n + nb - 1) / nb
	// Tiles that are only read may share memory.
	shared := square[T](nb, nb, false).Data
	matrix := func(own bool) []*tile[T] {
		all := make([]*tile[T], k*k)
		for i := range all {
			all[i] = &tile[T]{Rows: min(nb, n-i/k*nb), Cols: min(nb, n-i%k*nb), Stride: nb, Data: shared}
			if own {
				all[i].Data = make([]T, nb*nb)
			}
		}
		return all
	}
	x, y, z := matrix(false), matrix(false), matrix(true)
	s := &station{a: a}
	params := &op.Gemm[T]{TransA: blas.NoTrans, TransB: blas.NoTrans, Alpha: 1, Beta: 1}
	took, err := best(times, func() error {
		for l := range k {
			for i := range k {
				for j := range k {
					if err := s.wait(min(slots(nb), k*k) - 1); err != nil {
						return err
					}
					if err := s.start(v, params, []any{x[i*k+l], y[l*k+j], z[i*k+j]}, []versions.Use{in, in, inout}); err != nil {
						return err
					}
				}
			}
		}
		return s.wait(0)
	})
	// The results on the device are not needed.
	return flops(p) / max(took, time.Nanosecond).Seconds() / 1e9, err
}
