package blocked

import (
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/kernels"
	"gonum.org/v1/gonum/blas"
)

// Trsm submits the solution of a triangular system with many right-hand
// sides,
//
//	B = alpha·op(A)⁻¹·B (side = Left, A m×m),
//	B = alpha·B·op(A)⁻¹ (side = Right, A n×n),
//
// where B is m×n, Full, and A is the uplo triangle of a, which must store it
// (a may also be Full or symmetric, as a factorization leaves it). With
// diag = Unit the diagonal of A is taken to be ones and not read. A must have
// B's tile size and must not share memory with B.
//
// A zero on the diagonal of A gives infinities and NaN, as in BLAS. It panics
// with ErrShape if the shapes or tile sizes do not fit, and with ErrKind if B
// is not Full or a does not store the triangle.
//
// Reference: BLAS xTRSM.
func (p *Program[T]) Trsm(side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, alpha T, a, b *Matrix[T]) error {
	order := b.rows
	if side == blas.Right {
		order = b.cols
	}
	switch stored := a.kind.Uplo(); {
	case b.kind != Full || (stored != blas.All && stored != uplo):
		panic(ErrKind)
	case a.rows != order || a.cols != order || a.nb != b.nb:
		panic(ErrShape)
	}
	if alpha == 0 {
		return p.scale(0, b)
	}
	s := &solve[T]{Program: p, side: side, trans: trans, a: p.operand(a), b: p.operand(b), nt: a.nt,
		first: &kernels.Trsm{Side: side, Uplo: uplo, Trans: trans, Diag: diag, Alpha: float64(alpha)},
		later: &kernels.Trsm{Side: side, Uplo: uplo, Trans: trans, Diag: diag, Alpha: 1},
	}
	s.firstUpdate, s.laterUpdate = s.updates(float64(alpha))
	// op(A) is lower triangular if A is and is not transposed, or the
	// opposite of both. Then row block 0 of a system from the left is solved
	// first, and column block nt-1 of one from the right.
	lower := (uplo == blas.Lower) == (trans == blas.NoTrans)
	forward := lower == (side == blas.Left)
	for step := range s.nt {
		k := step
		if !forward {
			k = s.nt - 1 - step
		}
		if err := s.eliminate(k, step, forward); err != nil {
			return err
		}
	}
	return nil
}

// solve is one triangular solution.
type solve[T Element] struct {
	*Program[T]
	side                     blas.Side
	trans                    blas.Transpose
	a, b                     *operand[T]
	nt                       int
	first, later             *kernels.Trsm
	firstUpdate, laterUpdate *kernels.Gemm
}

// updates returns the parameters of the products that take a solved block out
// of the others. The first of them on each tile also applies alpha.
func (s *solve[T]) updates(alpha float64) (first, later *kernels.Gemm) {
	g := kernels.Gemm{TransA: s.trans, TransB: blas.NoTrans, Alpha: -1, Beta: alpha}
	if s.side == blas.Right {
		g.TransA, g.TransB = blas.NoTrans, s.trans
	}
	l := g
	l.Beta = 1
	return &g, &l
}

// eliminate solves for block k and takes it out of the blocks still to be
// solved. step counts the blocks done before.
func (s *solve[T]) eliminate(k, step int, forward bool) error {
	lines := s.b.nt // tiles in a block of B
	if s.side == blas.Right {
		lines = s.b.mt
	}
	block := func(i, line int) (r, c int) {
		if s.side == blas.Left {
			return i, line
		}
		return line, i
	}
	trsm, update := s.later, s.laterUpdate
	if step == 0 {
		trsm, update = s.first, s.firstUpdate
	}
	for line := range lines {
		if err := s.submit(s.ops.Trsm, trsm, int64(s.nt-step), in(s.a.tile(k, k)), inout(s.b.tile(block(k, line)))); err != nil {
			return err
		}
	}
	for rest := 1; rest < s.nt-step; rest++ {
		i := k + rest
		if !forward {
			i = k - rest
		}
		for line := range lines {
			// Left: B(i) -= op(A)(i, k)·X(k). Right: B(i) -= X(k)·op(A)(k, i).
			x, c := in(s.b.tile(block(k, line))), inout(s.b.tile(block(i, line)))
			var left, right graph.Operand
			if s.side == blas.Left {
				left, right = in(at(s.a, s.trans, i, k)), x
			} else {
				left, right = x, in(at(s.a, s.trans, k, i))
			}
			if err := s.submit(s.ops.Gemm, update, int64(s.nt-step-rest), left, right, c); err != nil {
				return err
			}
		}
	}
	return nil
}
