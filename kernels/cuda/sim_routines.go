package cuda

import (
	"math"
	"time"
	"unsafe"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// The routines of a [Simulated] are those of kernels/cpu, which are row-major: a
// column-major matrix is the transpose of a row-major one in the same memory. So
//
//	C  = op(A)·op(B)     is computed as  Cᵀ = op(B)ᵀ·op(A)ᵀ
//	op(A)·X = B          as              Xᵀ·op(A)ᵀ = Bᵀ
//	a lower triangle     is              an upper one
//
// Each routine of [Stream] has two parts. The method checks its arguments, on the
// caller's goroutine, and queues a function for the element type (typed). When the stream
// comes to that function, the function looks up the operands and computes within an engine
// (output). It computes on a copy, while the memory that it will write is full of NaN.

// newSimRoutines returns the fastest routines of this machine.
func newSimRoutines() simRoutines {
	return simRoutines{cpu.Fastest[float32](cpu.Caches{}), cpu.Fastest[float64](cpu.Caches{})}
}

// view is a column-major matrix, or one triangle of it, in the device's memory.
type view[T cpu.Element] struct {
	m, n, ld int
	uplo     blas.Uplo // the view has only this triangle; 0 means all of the matrix
	data     []T
}

// column returns the elements of column j that belong to the view, from data with the
// layout of the view.
func (v view[T]) column(data []T, j int) []T {
	lo, hi := 0, v.m
	switch v.uplo {
	case blas.Lower:
		lo = j
	case blas.Upper:
		hi = j + 1
	}
	return data[j*v.ld+lo : j*v.ld+hi]
}

// operands looks up the operands of a routine. It keeps the first error, after which all
// operands are nil. The routine returns the error before it computes.
type operands[T cpu.Element] struct {
	s   *simStream
	op  string
	err *DeviceError
}

// matrix returns an m×n matrix. Its data is nil if it has no elements.
func (o *operands[T]) matrix(m, n int, a Matrix) view[T] {
	return view[T]{m: m, n: n, ld: a.Ld, data: o.vector(a.Data, Strided{Row: 1, Col: a.Ld}.extent(m, n))}
}

// vector returns n elements at p. They have to lie within one allocation, and p has to be
// aligned to the size of an element. Otherwise it is misuse that makes the device lost.
func (o *operands[T]) vector(p Ptr, n int) []T {
	size := int64(scalar.Size[T]())
	if o.err != nil || n == 0 {
		return nil
	}
	if int64(p)%size != 0 {
		o.err = o.s.d.misused(o.op, o.s.name, codeAddress, "misaligned address %#x", p)
		return nil
	}
	var b []byte
	if b, o.err = o.s.at(o.op, p, int64(n)*size); o.err != nil {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// nan returns NaN.
func nan[T cpu.Element]() T { return T(math.NaN()) }

// output runs a routine that writes v. The routine gets x, a copy of from, and work, scratch
// elements. If from has no data, x is full of NaN. output then copies x to v. Padding of v,
// and the triangle that v does not have, keep their bits.
func output[T cpu.Element](s *simStream, flops float64, v, from view[T], scratch int, routine func(x, work []T)) {
	outputIn(s, launched[T](s, flops, false), v, from, scratch, routine)
}

// outputIn is output for a routine that takes a given time.
func outputIn[T cpu.Element](s *simStream, takes time.Duration, v, from view[T], scratch int,
	routine func(x, work []T)) {
	d := s.d
	var x []T
	d.compute.use(takes, func() {
		n := len(v.data)
		all := versions.Scratch[T](&d.compute.work, n+scratch)
		x = all[:n:n]
		spoil(all) // the routine should read nothing else
		for j := range v.n {
			if from.data != nil {
				copy(v.column(x, j), from.column(from.data, j))
			}
		}
		for j := range v.n {
			spoil(v.column(v.data, j))
		}
		routine(x, all[n:])
	}, func() {
		for j := range v.n {
			copy(v.column(v.data, j), v.column(x, j))
		}
	})
}

// hostOf returns the routines for T, which is float32 or float64.
func hostOf[T cpu.Element](s *simStream) cpu.Routines[T] {
	r := &s.d.compute.routines
	if host, ok := any(r.f32).(cpu.Routines[T]); ok {
		return host
	}
	return any(r.f64).(cpu.Routines[T])
}

// shape is the shape m×n of an operand, and its leading dimension, in elements.
type shape struct{ m, n, ld int }

// routine checks the arguments of a routine, as check does, and enqueues the instance for
// typ.
func (s *simStream) routine(op string, typ Type, f32, f64 func() *DeviceError, rest bool, shapes ...shape) error {
	if err := s.check(op, typ, rest, shapes...); err != nil {
		return err
	}
	return s.enqueue(op, typed(typ, f32, f64))
}

// workOf returns the size of the scratch memory of a factorization. The simulated routine
// needs none, but fills that memory with NaN: a caller that reserves none gets an error.
func (s *simStream) workOf(op string, typ Type, elements int, rest bool, a shape) (bytes int64, err error) {
	if err := s.d.called(op, s.name); err != nil {
		return 0, err
	}
	if err := s.check(op, typ, rest, a); err != nil {
		return 0, err
	}
	return typ.Size() * int64(elements), nil
}

// check returns an error unless typ and the shapes are valid. rest reports whether all
// other arguments are.
func (s *simStream) check(op string, typ Type, rest bool, shapes ...shape) error {
	if typ != F32 && typ != F64 {
		return s.d.misused(op, s.name, codeInvalid, "element type %d", typ)
	}
	for _, x := range shapes {
		if x.m < 0 || x.n < 0 || x.ld < max(1, x.m) {
			return s.d.misused(op, s.name, codeInvalid, "a %d×%d operand with leading dimension %d", x.m, x.n, x.ld)
		}
	}
	if !rest {
		return s.d.misused(op, s.name, codeInvalid, "bad transpose, triangle, side or diagonal")
	}
	return nil
}

// These report whether an enumeration has a value that cuBLAS takes.
func okTrans(t blas.Transpose) bool { return t == blas.NoTrans || t == blas.Trans }
func okUplo(u blas.Uplo) bool       { return u == blas.Lower || u == blas.Upper }
func okSide(s blas.Side) bool       { return s == blas.Left || s == blas.Right }
func okDiag(d blas.Diag) bool       { return d == blas.Unit || d == blas.NonUnit }

// turned returns the triangle of the transpose.
func turned(u blas.Uplo) blas.Uplo {
	if u == blas.Lower {
		return blas.Upper
	}
	return blas.Lower
}

// turnedSide returns the side of a factor in the transpose of a product.
func turnedSide(s blas.Side) blas.Side {
	if s == blas.Left {
		return blas.Right
	}
	return blas.Left
}

// applied returns the shape of A for an m×n op(A).
func applied(trans blas.Transpose, m, n int) (int, int) {
	if trans == blas.NoTrans {
		return m, n
	}
	return n, m
}

// order returns the order of a triangle that multiplies an m×n matrix from that side.
func order(side blas.Side, m, n int) int {
	if side == blas.Left {
		return m
	}
	return n
}

// typed returns the instance of a routine for typ.
func typed(typ Type, f32, f64 func() *DeviceError) func() *DeviceError {
	if typ == F32 {
		return f32
	}
	return f64
}

// launched returns how long a routine on T takes. more says that it is launched together
// with another one, whose time includes the launch. The option Rate is for float64; in
// float32 half as many bytes take half the time.
func launched[T cpu.Element](s *simStream, flops float64, more bool) time.Duration {
	d := seconds(flops*float64(scalar.Size[T]())/8, s.d.opt.Rate)
	if !more {
		d += s.d.opt.Launch
	}
	return d
}

// sane reports whether both strides of a are positive.
func (a Strided) sane() bool { return a.Row > 0 && a.Col > 0 }

// extent returns the number of elements from the first to the last one of an m×n matrix.
func (a Strided) extent(m, n int) int {
	if m == 0 || n == 0 {
		return 0
	}
	return (m-1)*a.Row + (n-1)*a.Col + 1
}

// spoil fills x with NaN, since the contents of x are undefined from now on.
func spoil[T cpu.Element](x []T) {
	for i := range x {
		x[i] = nan[T]()
	}
}
