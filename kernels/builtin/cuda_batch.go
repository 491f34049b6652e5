package builtin

import (
	"encoding/binary"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// Small products and solutions go to a device together: the libraries have
// routines for many matrices of one shape. Those for syrk and potrf they have not,
// or they are no faster for what tiles are.

// batchedGemm is the order of the largest product that goes with others. On an
// H200 one of order 512 in float64 takes 8 µs, of which it computes for 5, and one
// of 1024 takes 40, of which it computes for nearly all (published figures; we
// have measured neither).
const batchedGemm = 640

// batchedTrsm is the largest dimension of a solution that goes with others:
// NVIDIA's documentation says that cublas<t>trsmBatched is for small matrices. Not
// measured.
const batchedTrsm = 256

// layout is what must be the same of operands for their leading dimensions on a
// device to be: that depends on what they are on the host.
type layout struct{ cols, stride int }

func layoutOf[T kernels.Element](t *kernels.Tile[T]) layout { return layout{t.Cols, t.Stride} }

// gemmKey is what products that go together have in common.
type gemmKey struct {
	transA, transB blas.Transpose
	m, n, k        int
	alpha, beta    float64
	a, b, c        layout
}

func cudaGemmKey[T kernels.Element](call *versions.Call) any {
	p := params[kernels.Gemm](call)
	a, b, c, m, n, k := gemmOf[T](call, p)
	const upTo = batchedGemm * batchedGemm * batchedGemm
	if work := float64(m) * float64(n) * float64(k); work == 0 || work > upTo || p.Alpha == 0 {
		return nil
	}
	return gemmKey{plain(p.TransA), plain(p.TransB), m, n, k, p.Alpha, p.Beta, layoutOf(a), layoutOf(b), layoutOf(c)}
}

// cudaGemms computes the products of calls with the same gemmKey.
func cudaGemms[T kernels.Element](calls []*versions.Call) error {
	key := cudaGemmKey[T](calls[0]).(gemmKey)
	q := queueOf[T](calls[0])
	t, err := tables[T](q, calls, 3)
	if err == nil {
		err = q.s.GemmBatched(q.typ, key.transB, key.transA, key.n, key.m, key.k, key.alpha, t[1], t[0], key.beta, t[2], len(calls))
	}
	if err != nil {
		return err // each says when it has ended as it goes alone
	}
	for _, call := range calls {
		unpacked(call)
	}
	return nil
}

// trsmKey is what solutions that go together have in common. Sides and triangles
// are those of the transposes: see [queue].
type trsmKey struct {
	side  blas.Side
	uplo  blas.Uplo
	trans blas.Transpose
	diag  blas.Diag
	m, n  int
	alpha float64
	a, b  layout
}

func cudaTrsmKey[T kernels.Element](call *versions.Call) any {
	p, a, b := triangularOf[T](call, false)
	checkDiag(p.Diag)
	if min(b.Rows, b.Cols) == 0 || max(b.Rows, b.Cols) > batchedTrsm || p.Alpha == 0 {
		return nil
	}
	return trsmKey{facing(p.Side), opposite(p.Uplo), plain(p.Trans), p.Diag, b.Rows, b.Cols, p.Alpha, layoutOf(a), layoutOf(b)}
}

// cudaTrsms solves for the calls with the same trsmKey.
func cudaTrsms[T kernels.Element](calls []*versions.Call) error {
	key := cudaTrsmKey[T](calls[0]).(trsmKey)
	q := queueOf[T](calls[0])
	t, err := tables[T](q, calls, 2)
	if err != nil {
		return err
	}
	return q.s.TrsmBatched(q.typ, key.side, key.uplo, key.trans, key.diag, key.n, key.m, key.alpha, t[0], t[1], len(calls))
}

// tables uploads where the operands of calls are, of which each has n, and returns
// a table for each operand. It panics with [ErrShape] if the leading dimensions
// differ.
func tables[T kernels.Element](q queue[T], calls []*versions.Call, n int) ([]cuda.Matrices, error) {
	all := make([]cuda.Matrices, n)
	var addresses []byte
	for i := range all {
		for k, call := range calls {
			m := queueOf[T](call).matrixOf(i)
			if k > 0 && m.Ld != all[i].Ld {
				panic(kernels.ErrShape)
			}
			all[i].Ld = m.Ld
			addresses = binary.LittleEndian.AppendUint64(addresses, uint64(m.Data))
		}
	}
	p, err := q.Upload(addresses)
	for i := range all {
		all[i].Table = p + cuda.Ptr(8*i*len(calls))
	}
	return all, err
}

// matrixOf returns the transpose of Call.Args[i].
func (q queue[T]) matrixOf(i int) cuda.Matrix { return q.turned(q.operand(i)) }
