package op

import (
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// Gemm is the parameter of op "gemm" (BLAS xGEMM):
//
//	C = Alpha·op(A)·op(B) + Beta·C
//
// Operands, in order: A (in), B (in), C (inout). op(A) is m×k, op(B) k×n, C m×n. With Beta = 0, C
// is not read and may hold NaN; with Alpha = 0, neither A nor B is read.
//
// Tasks share packed operands ([kernels.Packings]): op(A) as A and op(B) as B.
type Gemm[T kernels.Element] struct {
	TransA, TransB blas.Transpose
	Alpha, Beta    T
}

// Validate returns an error if a field is out of range.
func (p *Gemm[T]) Validate() error { return check("gemm", p) }

// gemmOp defines op "gemm".
func gemmOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op: versions.Op{Name: "gemm", Work: gemmWork[T], NewParams: fresh[Gemm[T]], Thin: thin[T],
			Derive: sharePacked[T](onLeft, 1)},
		about: "product of matrices, C ← αAB + βC",
		run:   gemm[T],
		help:  sharing[T](gemmWork[T]),
		cuda:  versions.Version{Run: cudaGemm[T], Batch: &versions.Batch{Key: cudaGemmKey[T], Run: cudaGemms[T]}},
	}
}

// gemmOf returns the operands of op "gemm" and its dimensions.
func gemmOf[T kernels.Element](call *versions.Call, p *Gemm[T]) (a, b, c *kernels.Tile[T], m, n, k int) {
	a, c = args[T](call, 3)
	b = arg[T](call, 1)
	m, k = dims(a, p.TransA)
	kb, n := dims(b, p.TransB)
	panicIf(k != kb || c.Rows != m || c.Cols != n, kernels.ErrShape)
	return a, b, c, m, n, k
}

// gemmWork returns 2·m·n·k.
func gemmWork[T kernels.Element](call *versions.Call) float64 {
	a, c := args[T](call, 3)
	_, k := dims(a, params[Gemm[T]](call).TransA)
	return 2 * float64(c.Rows) * float64(c.Cols) * float64(k)
}

// gemm returns the function of a version of op "gemm". Each path must call Done on both packings:
// see [kernels.Packings].
func gemm[T kernels.Element](by implementation[T]) func(*versions.Call) error {
	packed, own := by.blas.(*cpu.Packed[T])
	return func(call *versions.Call) error {
		p := params[Gemm[T]](call)
		a, b, c, m, n, k := gemmOf[T](call, p)
		var ap, bp []T
		packings := kernels.PackingsOf(call)
		defer func() { packings.A.Done(ap != nil); packings.B.Done(bp != nil) }()
		if own && (m == 1 || n == 1) {
			gemv(packed, p, a, b, c)
			return nil
		}
		work := versions.Scratch[T](call.Work, by.blas.Work(max(m, n, k)))
		if own && packed.Prepacks(m, n, k) {
			ap = packedLeft(packings.A, packed, a, p.TransA, m, k)
			bp = packedRight(packings.B, packed, b, p.TransB, n, k)
		}
		if ap != nil || bp != nil {
			gangPacked(packed, call).GemmPacked(p.TransA, p.TransB, m, n, k, p.Alpha, a.Data, a.Stride, ap,
				b.Data, b.Stride, bp, p.Beta, c.Data, c.Stride, work)
			return nil
		}
		gangRoutines(by.blas, call).Gemm(p.TransA, p.TransB, m, n, k, p.Alpha, a.Data, a.Stride, b.Data, b.Stride,
			p.Beta, c.Data, c.Stride, work)
		return nil
	}
}

// gemv computes op "gemm" for a C of one row or column: packing the matrix would take longer than
// the product.
func gemv[T kernels.Element](r *cpu.Packed[T], p *Gemm[T], a, b, c *kernels.Tile[T]) {
	if c.Cols == 1 {
		inc := b.Stride
		if p.TransB != blas.NoTrans {
			inc = 1 // b is a row
		}
		r.Gemv(p.TransA, a.Rows, a.Cols, p.Alpha, a.Data, a.Stride, b.Data, inc, p.Beta, c.Data, c.Stride)
		return
	}
	// Cᵀ = Alpha·op(B)ᵀ·op(A)ᵀ + Beta·Cᵀ
	inc := 1
	if p.TransA != blas.NoTrans {
		inc = a.Stride // a is a column
	}
	r.Gemv(scalar.Flip[T](p.TransB), b.Rows, b.Cols, p.Alpha, b.Data, b.Stride, a.Data, inc, p.Beta, c.Data, 1)
}

// cudaGemm is the function of version "cuda" of op "gemm".
func cudaGemm[T kernels.Element](call *versions.Call) error {
	p := params[Gemm[T]](call)
	_, _, _, m, n, k := gemmOf[T](call, p)
	skipPackings(call)
	q := queueOf[T](call)
	return q.gemm(p.TransA, p.TransB, m, n, k, p.Alpha, q.operand(0), q.operand(1), p.Beta, q.operand(2))
}

// batchedGemm is the order of the largest product that is sent in a batch. It follows from the
// launch costs that NVIDIA publishes: an H200 computes a product of order 512 in about the time
// of its launch, and one of order 1024 in a multiple of that.
const batchedGemm = 640

// gemmKey identifies products that one batched call can compute: equal shapes, factors and
// leading dimensions.
type gemmKey[T kernels.Element] struct {
	transA, transB blas.Transpose
	m, n, k        int
	alpha, beta    T
	a, b, c        layout
}

// cudaGemmKey returns the gemmKey of a call, or nil if the call goes alone.
func cudaGemmKey[T kernels.Element](call *versions.Call) any {
	p := params[Gemm[T]](call)
	a, b, c, m, n, k := gemmOf[T](call, p)
	const upTo = batchedGemm * batchedGemm * batchedGemm
	if work := float64(m) * float64(n) * float64(k); work == 0 || work > upTo || p.Alpha == 0 {
		return nil
	}
	return gemmKey[T]{unconjugated(p.TransA), unconjugated(p.TransB), m, n, k, p.Alpha, p.Beta, layoutOf(a),
		layoutOf(b), layoutOf(c)}
}

// cudaGemms computes the products of calls with the same gemmKey.
func cudaGemms[T kernels.Element](calls []*versions.Call) error {
	key := cudaGemmKey[T](calls[0]).(gemmKey[T])
	q := queueOf[T](calls[0])
	t, err := operandTables[T](q, calls, 3)
	if err == nil {
		err = q.s.GemmBatched(q.typ, key.transB, key.transA, key.n, key.m, key.k, float64(key.alpha), t[1], t[0], float64(key.beta),
			t[2], len(calls))
	}
	if err != nil {
		return err // the calls then run one by one, and each ends its own packings
	}
	for _, call := range calls {
		skipPackings(call)
	}
	return nil
}
