package cuda

import (
	"encoding/binary"

	"github.com/tessera-la/tessera/kernels/cpu"
	"gonum.org/v1/gonum/blas"
)

// The products and solutions of BLAS on a simulated device, one method for each of
// cuBLAS's routines that the versions use:
//
//	Gemm    C = α·op(A)·op(B) + β·C           xGEMM
//	Syrk    C = α·op(A)·op(A)ᵀ + β·C          xSYRK, one triangle
//	Trsm    B = α·op(A)⁻¹·B or α·B·op(A)⁻¹    xTRSM
//	Trmm    C = α·op(A)·B or α·B·op(A)        xTRMM, not in place
//
// A method runs on the caller's goroutine. It returns a *[DeviceError] for arguments
// that the real library would refuse. It queues a function that runs on the stream's
// goroutine; an error of that function makes the device lost. Work is counted as LAPACK
// does, in floating point operations without terms of lower order.

// Gemm implements [Stream]. It counts 2·m·n·k operations.
func (s *simStream) Gemm(typ Type, transA, transB blas.Transpose, m, n, k int, alpha float64, a, b Matrix,
	beta float64, c Matrix) error {
	am, an := applied(transA, m, k)
	bm, bn := applied(transB, k, n)
	p := gemmCall{"Gemm", false, transA, transB, m, n, k, alpha, beta, a, b, c}
	return s.routine("Gemm", typ, gemmOn[float32](s, p), gemmOn[float64](s, p),
		okTrans(transA) && okTrans(transB), shape{am, an, a.Ld}, shape{bm, bn, b.Ld}, shape{m, n, c.Ld})
}

// gemmCall is the arguments of a product. A batch has one for each of its products.
type gemmCall struct {
	op             string
	more           bool // it is launched together with another one
	transA, transB blas.Transpose
	m, n, k        int
	alpha, beta    float64
	a, b, c        Matrix
}

// gemmOn returns the function that the stream runs for a product. As in BLAS, it does not
// read A and B if alpha is 0, nor C if beta is 0.
func gemmOn[T cpu.Element](s *simStream, p gemmCall) func() *DeviceError {
	return func() *DeviceError {
		o := operands[T]{s: s, op: p.op}
		if p.alpha == 0 {
			p.k = 0
		}
		am, an := applied(p.transA, p.m, p.k)
		bm, bn := applied(p.transB, p.k, p.n)
		a, b, c := o.matrix(am, an, p.a), o.matrix(bm, bn, p.b), o.matrix(p.m, p.n, p.c)
		if o.err != nil || c.data == nil {
			return o.err
		}
		// With β = 0, C is not read: the routine finds NaN there.
		var from view[T]
		if p.beta != 0 {
			from = c
		}
		r := hostOf[T](s)
		outputIn(s, launched[T](s, 2*float64(p.m)*float64(p.n)*float64(p.k), p.more), c, from,
			r.Work(max(p.m, p.n, p.k)), func(x, work []T) {
				// Cᵀ = α·op(B)ᵀ·op(A)ᵀ + β·Cᵀ
				r.Gemm(p.transB, p.transA, p.n, p.m, p.k, T(p.alpha), b.data, max(b.ld, bm), a.data, max(a.ld, am),
					T(p.beta), x, c.ld, work)
			})
		return nil
	}
}

// Syrk implements [Stream]. It counts n²·k operations, for one triangle.
func (s *simStream) Syrk(typ Type, uplo blas.Uplo, trans blas.Transpose, n, k int, alpha float64, a Matrix,
	beta float64, c Matrix) error {
	am, an := applied(trans, n, k)
	if alpha == 0 {
		k = 0 // A is not read
	}
	return s.routine("Syrk", typ, syrkOn[float32](s, uplo, trans, n, k, alpha, a, beta, c),
		syrkOn[float64](s, uplo, trans, n, k, alpha, a, beta, c),
		okUplo(uplo) && okTrans(trans), shape{am, an, a.Ld}, shape{n, n, c.Ld})
}

// syrkOn returns the function that the stream runs for Syrk. The uplo triangle of C is the
// other triangle of Cᵀ. The transposes also turn A·Aᵀ into Aᵀ·A, and the reverse.
func syrkOn[T cpu.Element](s *simStream, uplo blas.Uplo, trans blas.Transpose, n, k int, alpha float64, atA Matrix,
	beta float64, atC Matrix) func() *DeviceError {
	return func() *DeviceError {
		o := operands[T]{s: s, op: "Syrk"}
		am, an := applied(trans, n, k)
		a, c := o.matrix(am, an, atA), o.matrix(n, n, atC)
		if o.err != nil || c.data == nil {
			return o.err
		}
		c.uplo = uplo
		var from view[T]
		if beta != 0 {
			from = c
		}
		other := blas.Trans
		if trans != blas.NoTrans {
			other = blas.NoTrans
		}
		r := hostOf[T](s)
		output(s, float64(n)*float64(n)*float64(k), c, from, r.Work(max(n, k)), func(x, work []T) {
			r.Syrk(turned(uplo), other, n, k, T(alpha), a.data, a.ld, T(beta), x, c.ld, work)
		})
		return nil
	}
}

// triangular is the arguments of a product with a triangle, or of a solution.
type triangular struct {
	side       blas.Side
	uplo       blas.Uplo
	trans      blas.Transpose
	diag       blas.Diag
	m, n       int
	alpha      float64
	a, from, b Matrix // from is read and b is written
	more       bool   // it is launched together with another one
}

// shapes reports whether the enumerations are valid, and returns the shapes of A, from and
// b.
func (p triangular) shapes() (ok bool, all []shape) {
	k := order(p.side, p.m, p.n)
	ok = okSide(p.side) && okUplo(p.uplo) && okTrans(p.trans) && okDiag(p.diag)
	return ok, []shape{{k, k, p.a.Ld}, {p.m, p.n, p.from.Ld}, {p.m, p.n, p.b.Ld}}
}

// Trsm implements [Stream]. Like Trmm, it counts m²·n operations with A on the left and
// m·n² with A on the right.
func (s *simStream) Trsm(typ Type, side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, m, n int,
	alpha float64, a, b Matrix) error {
	p := triangular{side, uplo, trans, diag, m, n, alpha, a, b, b, false}
	ok, shapes := p.shapes()
	return s.routine("Trsm", typ, triangularOn("Trsm", s, p, hostOf[float32](s).Trsm),
		triangularOn("Trsm", s, p, hostOf[float64](s).Trsm), ok, shapes...)
}

// Trmm implements [Stream]. C may be B: the routine works on a copy.
func (s *simStream) Trmm(typ Type, side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, m, n int,
	alpha float64, a, b, c Matrix) error {
	p := triangular{side, uplo, trans, diag, m, n, alpha, a, b, c, false}
	ok, shapes := p.shapes()
	return s.routine("Trmm", typ, triangularOn("Trmm", s, p, hostOf[float32](s).Trmm),
		triangularOn("Trmm", s, p, hostOf[float64](s).Trmm), ok, shapes...)
}

// triangularOn returns the function that the stream runs for Trsm or Trmm. The routine of
// kernels/cpu computes in place, on a copy of p.from. As in BLAS, zeros on the diagonal of A
// are no error.
func triangularOn[T cpu.Element](op string, s *simStream, p triangular,
	routine func(side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, m, n int, alpha T, a []T,
		lda int, b []T, ldb int, work []T)) func() *DeviceError {
	return func() *DeviceError {
		o := operands[T]{s: s, op: op}
		k := order(p.side, p.m, p.n)
		a, from, b := o.matrix(k, k, p.a), o.matrix(p.m, p.n, p.from), o.matrix(p.m, p.n, p.b)
		if o.err != nil || b.data == nil {
			return o.err
		}
		outputIn(s, launched[T](s, float64(p.m)*float64(p.n)*float64(k), p.more), b, from,
			hostOf[T](s).Work(max(p.m, p.n)), func(x, work []T) {
				routine(turnedSide(p.side), turned(p.uplo), p.trans, p.diag, p.n, p.m, T(p.alpha), a.data, a.ld, x,
					b.ld, work)
			})
		return nil
	}
}

// A batch is a sequence of single calls. Only the first one costs a launch. The
// addresses of their matrices lie in tables on the device, one table for each operand:
//
//	a.Table ─► │ &A0 │ &A1 │ &A2 │ …     8 bytes each, little-endian
//
// A real device computes them at the same time, and this one does them one by one.

// GemmBatched implements [Stream], as cublas<t>gemmBatched.
func (s *simStream) GemmBatched(typ Type, transA, transB blas.Transpose, m, n, k int, alpha float64, a, b Matrices,
	beta float64, c Matrices, count int) error {
	const op = "GemmBatched"
	am, an := applied(transA, m, k)
	bm, bn := applied(transB, k, n)
	if err := s.check(op, typ, okTrans(transA) && okTrans(transB), shape{am, an, a.Ld}, shape{bm, bn, b.Ld},
		shape{m, n, c.Ld}); err != nil {
		return err
	}
	if why := badBatch(alpha, m, n, k, count); why != "" {
		return s.d.misused(op, s.name, codeInvalid, "%s", why)
	}
	each := func(at []Matrix, first bool) func() *DeviceError {
		p := gemmCall{op, !first, transA, transB, m, n, k, alpha, beta, at[0], at[1], at[2]}
		return typed(typ, gemmOn[float32](s, p), gemmOn[float64](s, p))
	}
	return s.enqueue(op, func() *DeviceError { return s.batch(op, count, each, a, b, c) })
}

// TrsmBatched implements [Stream], as cublas<t>trsmBatched.
func (s *simStream) TrsmBatched(typ Type, side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag,
	m, n int, alpha float64, a, b Matrices, count int) error {
	const op = "TrsmBatched"
	p := triangular{side: side, uplo: uplo, trans: trans, diag: diag, m: m, n: n, alpha: alpha, a: Matrix{0, a.Ld},
		from: Matrix{0, b.Ld}, b: Matrix{0, b.Ld}}
	ok, shapes := p.shapes()
	if err := s.check(op, typ, ok, shapes...); err != nil {
		return err
	}
	if why := badBatch(alpha, m, n, m, count); why != "" {
		return s.d.misused(op, s.name, codeInvalid, "%s", why)
	}
	each := func(at []Matrix, first bool) func() *DeviceError {
		p := p
		p.more, p.a, p.from, p.b = !first, at[0], at[1], at[1]
		return typed(typ, triangularOn(op, s, p, hostOf[float32](s).Trsm),
			triangularOn(op, s, p, hostOf[float64](s).Trsm))
	}
	return s.enqueue(op, func() *DeviceError { return s.batch(op, count, each, a, b) })
}

// batch does count calls. each returns the function for one of them, given the call's
// matrices, one from each table. batch reads the tables before it writes anything. An
// address in a table is checked when its call begins, and an error there leaves the
// remaining calls undone.
func (s *simStream) batch(op string, count int, each func(at []Matrix, first bool) func() *DeviceError,
	tables ...Matrices) *DeviceError {
	at := make([]Matrix, count*len(tables))
	for j, t := range tables {
		addresses, err := s.at(op, t.Table, 8*int64(count))
		if err != nil {
			return err
		}
		if t.Table%8 != 0 {
			return s.d.misused(op, s.name, codeAddress, "misaligned address %#x", t.Table)
		}
		for i := range count {
			at[i*len(tables)+j] = Matrix{Ptr(binary.LittleEndian.Uint64(addresses[8*i:])), t.Ld}
		}
	}
	for i := range count {
		if err := each(at[i*len(tables):][:len(tables)], i == 0)(); err != nil {
			return err
		}
	}
	return nil
}
