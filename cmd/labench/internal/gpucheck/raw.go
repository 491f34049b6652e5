package gpucheck

import (
	"fmt"
	"math"
	"runtime"
	"time"
	"unsafe"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/builtin"
	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// piece is the bytes that a matrix is made from, over and over.
const piece = 16 << 20

// fill fills n bytes of elements of typ with copies of a piece of numbers, each
// times scale.
func fill(s cuda.Stream, typ cuda.Type, p cuda.Ptr, n int64, scale float64) error {
	first := min(n, piece)
	var data unsafe.Pointer
	if typ == cuda.F64 {
		data = numbers[float64](int(first/8), scale)
	} else {
		data = numbers[float32](int(first/4), scale)
	}
	if err := firstError(s.CopyIn(p, first, data, first, first, 1), s.Synchronize()); err != nil {
		return err
	}
	runtime.KeepAlive(data)
	for done := first; done < n; done += first {
		part := min(first, n-done)
		if err := s.Copy(p+cuda.Ptr(done), part, p, part, part, 1); err != nil {
			return err
		}
	}
	return s.Synchronize()
}

// fillAround fills an n×n matrix, and sets its diagonal to ones.
func fillAround(s cuda.Stream, typ cuda.Type, p cuda.Ptr, n int, scale float64) error {
	size := typ.Size()
	diagonal := unsafe.Pointer(unsafe.SliceData(ones[float64](n)))
	if typ == cuda.F32 {
		diagonal = unsafe.Pointer(unsafe.SliceData(ones[float32](n)))
	}
	err := firstError(fill(s, typ, p, int64(n)*int64(n)*size, scale),
		s.CopyIn(p, int64(n+1)*size, diagonal, size, size, n), s.Synchronize())
	runtime.KeepAlive(diagonal)
	return err
}

func numbers[T kernels.Element](n int, scale float64) unsafe.Pointer {
	x := make([]T, n)
	for i := range x {
		x[i] = T(scale * element(i))
	}
	return unsafe.Pointer(unsafe.SliceData(x))
}

// raw returns the GFLOP/s of the library's routine for p on matrices in the
// device's memory. They are filled anew before each run, which is not timed.
func raw(d cuda.Device, p problem, times int) (rate float64, err error) {
	r := &room{d: d}
	defer r.free(&err)
	typ, n := p.element(), p.n
	square := func() cuda.Matrix {
		return cuda.Matrix{Data: r.alloc(int64(n) * int64(n) * typ.Size()), Ld: n}
	}
	s, info, tau, a := r.stream(), r.alloc(256), r.alloc(8*int64(n)), square()
	var b, c cuda.Matrix
	if p.op == "gemm" {
		b, c = square(), square()
	}
	if r.err != nil {
		return 0, r.err
	}
	// The numbers repeat: without the diagonal the matrix would be singular.
	scale, bytes := 1.0, int64(0)
	switch p.op {
	case "cholesky":
		scale = 0.01 / float64(n) // close to the unit matrix
		bytes, err = s.PotrfWork(typ, blas.Lower, n, a)
	case "qr":
		bytes, err = s.GeqrfWork(typ, n, n, a)
	}
	work := r.alloc(max(bytes, 256))
	if err := firstError(err, r.err, s.Fill(info, 0, 256)); err != nil {
		return 0, err
	}
	took := time.Duration(math.MaxInt64)
	for i := range times + 1 {
		err := fillAround(s, typ, a.Data, n, scale)
		if p.op == "gemm" {
			err = firstError(err, fillAround(s, typ, b.Data, n, scale))
		}
		if err != nil {
			return 0, err
		}
		begin := time.Now()
		switch p.op {
		case "gemm":
			err = s.Gemm(typ, blas.NoTrans, blas.NoTrans, n, n, n, 1, a, b, 0, c)
		case "cholesky":
			err = s.Potrf(typ, blas.Lower, n, a, work, info)
		case "qr":
			err = s.Geqrf(typ, n, n, a, tau, work, info)
		}
		if err := firstError(err, s.Synchronize()); err != nil {
			return 0, err
		}
		if i > 0 { // the first one warms up
			took = min(took, max(time.Since(begin), 1))
		}
	}
	var found int32
	if err := firstError(s.CopyOut(unsafe.Pointer(&found), 4, info, 4, 4, 1), s.Synchronize()); err != nil {
		return 0, err
	}
	if found != 0 {
		return 0, fmt.Errorf("gpucheck: the library's info is %d for %s of a matrix that it can factor", found, p.op)
	}
	return flops(p) / took.Seconds() / 1e9, nil
}

func ones[T kernels.Element](n int) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = 1
	}
	return x
}

// residentGemm returns the GFLOP/s of a product of n×n matrices in tiles of nb,
// all of which are on the device: by calls in order of k, so that those in flight
// write different tiles.
func residentGemm[T kernels.Element](a *cuda.Accelerator, n, nb, times int) (rate float64, err error) {
	_, name := typeOf[T]()
	op := builtin.NewTable().Op("gemm", name)
	v := op.Version("cuda")
	k := (n + nb - 1) / nb
	// Tiles that are only read may lie in one another's memory.
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
	p := &kernels.Gemm{TransA: blas.NoTrans, TransB: blas.NoTrans, Alpha: 1, Beta: 1}
	took, err := best(times, func() error {
		for l := range k {
			for i := range k {
				for j := range k {
					if err := s.wait(min(slots(nb), k*k) - 1); err != nil {
						return err
					}
					if err := s.start(v, p, []any{x[i*k+l], y[l*k+j], z[i*k+j]}, []versions.Use{in, in, inout}); err != nil {
						return err
					}
				}
			}
		}
		return s.wait(0)
	})
	// What is on the device is not wanted.
	return flops(problem{op: "gemm", n: n}) / max(took, time.Nanosecond).Seconds() / 1e9, err
}
