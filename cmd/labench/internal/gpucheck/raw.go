package gpucheck

import (
	"fmt"
	"runtime"
	"time"
	"unsafe"

	"github.com/tessera-la/tessera/kernels"
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

func numbers[T kernels.Element](n int, scale float64) unsafe.Pointer {
	x := make([]T, n)
	for i := range x {
		x[i] = T(scale * element(i))
	}
	return unsafe.Pointer(unsafe.SliceData(x))
}

// rawGemm returns the GFLOP/s of the library's product of n×n matrices in the
// device's memory.
func rawGemm(d cuda.Device, typ cuda.Type, n, times int) (rate float64, err error) {
	r := &room{d: d}
	defer r.free(&err)
	bytes := int64(n) * int64(n) * typ.Size()
	a, b, c, s := r.alloc(bytes), r.alloc(bytes), r.alloc(bytes), r.stream()
	if r.err != nil {
		return 0, r.err
	}
	if err := firstError(fill(s, typ, a, bytes, 1), fill(s, typ, b, bytes, 1), fill(s, typ, c, bytes, 1)); err != nil {
		return 0, err
	}
	took, err := best(times, func() error {
		return firstError(s.Gemm(typ, blas.NoTrans, blas.NoTrans, n, n, n, 1, cuda.Matrix{Data: a, Ld: n}, cuda.Matrix{Data: b, Ld: n}, 0, cuda.Matrix{Data: c, Ld: n}), s.Synchronize())
	})
	return flops(problem{op: "gemm", n: n}) / took.Seconds() / 1e9, err
}

// rawPotrf returns the GFLOP/s of the library's Cholesky factorization of an n×n
// matrix in the device's memory. The matrix is close to a multiple of the unit
// matrix, and its factor too, so that it can be factored again and again.
func rawPotrf(d cuda.Device, typ cuda.Type, n, times int) (rate float64, err error) {
	r := &room{d: d}
	defer r.free(&err)
	size := typ.Size()
	bytes := int64(n) * int64(n) * size
	m := cuda.Matrix{Data: r.alloc(bytes), Ld: n}
	info, s := r.alloc(256), r.stream()
	if r.err != nil {
		return 0, r.err
	}
	work, err := s.PotrfWork(typ, blas.Lower, n, m)
	if err != nil {
		return 0, err
	}
	scratch := r.alloc(max(work, 256))
	if r.err != nil {
		return 0, r.err
	}
	diagonal := unsafe.Pointer(unsafe.SliceData(ones[float64](n)))
	if typ == cuda.F32 {
		diagonal = unsafe.Pointer(unsafe.SliceData(ones[float32](n)))
	}
	err = firstError(fill(s, typ, m.Data, bytes, 0.01/float64(n)),
		s.CopyIn(m.Data, int64(n+1)*size, diagonal, size, size, n), s.Synchronize())
	runtime.KeepAlive(diagonal)
	if err != nil {
		return 0, err
	}
	took, err := best(times, func() error {
		return firstError(s.Potrf(typ, blas.Lower, n, m, scratch, info), s.Synchronize())
	})
	if err != nil {
		return 0, err
	}
	var found int32
	if err := firstError(s.CopyOut(unsafe.Pointer(&found), 4, info, 4, 4, 1), s.Synchronize()); err != nil {
		return 0, err
	}
	if found != 0 {
		return 0, fmt.Errorf("gpucheck: the library says that minor %d of a matrix near the unit matrix is not positive definite", found)
	}
	return flops(problem{op: "cholesky", n: n}) / took.Seconds() / 1e9, nil
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
	op := kernels.NewTable().Op("gemm", name)
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
