package builtin

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// addCUDA gives the ops that devices have routines for a version "cuda", before
// all others. The panel of LU stays on the CPU: getrf looks for a pivot in every
// column of a stack of tiles.
func addCUDA[T kernels.Element](o *kernels.Ops[T]) {
	add := func(op *versions.Op, run func(*versions.Call) error, memory func(*versions.Call) int64) {
		v := versions.Version{Name: "cuda", Constraints: onCUDA(), Run: run, Memory: memory}
		op.Versions = append([]versions.Version{v}, op.Versions...)
	}
	add(o.Gemm, cudaGemm[T], nil)
	add(o.Syrk, cudaSyrk[T], nil)
	add(o.Trsm, cudaTrsm[T], nil)
	add(o.Trmm, cudaTrmm[T], nil)
	add(o.Potrf, cudaPotrf[T], cudaPotrfMemory[T])
	o.Gemm.Versions[0].Batch = &versions.Batch{Key: cudaGemmKey[T], Run: cudaGemms[T]}
	o.Trsm.Versions[0].Batch = &versions.Batch{Key: cudaTrsmKey[T], Run: cudaTrsms[T]}
	add(o.Lacpy, cudaLacpy[T], nil)
	add(o.Laswp, cudaLaswp[T], cudaLaswpMemory[T])
	add(o.Geqrt, cudaGeqrt[T], cudaGeqrtMemory[T])
	add(o.Tsqrt, cudaTsqrt[T], cudaTsqrtMemory[T])
	add(o.Ttqrt, cudaTtqrt[T], cudaTtqrtMemory[T])
	add(o.Unmqr, cudaUnmqr[T], cudaUnmqrMemory[T])
	add(o.Tsmqr, cudaTsmqr[T], cudaTsmqrMemory[T])
	add(o.Ttmqr, cudaTtmqr[T], cudaTtmqrMemory[T])
}

// cudaGemm is the function of version "cuda" of op "gemm".
func cudaGemm[T kernels.Element](call *versions.Call) error {
	p := params[kernels.Gemm](call)
	_, _, _, m, n, k := gemmOf[T](call, p)
	unpacked(call)
	q := queueOf[T](call)
	return q.gemm(p.TransA, p.TransB, m, n, k, p.Alpha, q.operand(0), q.operand(1), p.Beta, q.operand(2))
}

// cudaSyrk is the function of version "cuda" of op "syrk".
func cudaSyrk[T kernels.Element](call *versions.Call) error {
	p := params[kernels.Syrk](call)
	_, _, n, k := syrkOf[T](call, p)
	unpacked(call)
	q := queueOf[T](call)
	return q.syrk(p.Uplo, p.Trans, n, k, p.Alpha, q.operand(0), p.Beta, q.operand(1))
}

// cudaTrsm is the function of version "cuda" of op "trsm".
func cudaTrsm[T kernels.Element](call *versions.Call) error {
	p, _, b := triangularOf[T](call, false)
	checkDiag(p.Diag)
	q := queueOf[T](call)
	return q.trsm(p.Side, p.Uplo, p.Trans, p.Diag, b.Rows, b.Cols, p.Alpha, q.operand(0), q.operand(1))
}

// cudaTrmm is the function of version "cuda" of op "trmm".
func cudaTrmm[T kernels.Element](call *versions.Call) error {
	p, _, b := triangularOf[T](call, true)
	checkDiag(p.Diag)
	q := queueOf[T](call)
	x := q.operand(1)
	return q.trmm(p.Side, p.Uplo, p.Trans, p.Diag, b.Rows, b.Cols, p.Alpha, q.operand(0), x, x)
}

func checkDiag(diag blas.Diag) {
	if diag != blas.Unit && diag != blas.NonUnit {
		panic(cpu.ErrDiag)
	}
}

// cudaLacpy is the function of version "cuda" of op "lacpy". A lower triangle is the
// upper one of the transpose, which has rows where columns are.
func cudaLacpy[T kernels.Element](call *versions.Call) error {
	p := params[kernels.Lacpy](call)
	_, b := lacpyOf[T](call)
	q := queueOf[T](call)
	from, to := q.operand(0), q.operand(1)
	switch p.Uplo {
	case blas.Upper:
		return q.s.CopyUpper(q.typ, b.Rows, b.Cols, 0, q.strided(from), q.strided(to), false)
	case blas.Lower:
		return q.s.CopyUpper(q.typ, b.Cols, b.Rows, 0, q.across(from), q.across(to), false)
	}
	return q.copy(b.Rows, b.Cols, from, to)
}
