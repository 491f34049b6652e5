package peers

import (
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
)

// cholesky is A = L·Lᵀ. The library's variants are potrf's triangles.
type cholesky[T matgen.Element] struct {
	n           int
	a           []T
	oursL, theL []T
	judge       *factor[T]
}

func newCholesky[T matgen.Element](seed uint64, n int) (routine[T], error) {
	a, err := generate[T](matgen.SPD, Square(n), seed)
	if err != nil {
		return nil, err
	}
	return &cholesky[T]{n, a, touched[T](n * n), touched[T](n * n), newFactor(seed+2, n, a)}, nil
}

func (c *cholesky[T]) ours(e *la.Engine) (call func() error, residual func() float64) {
	chol := la.NewCholesky[T](e)
	// The upper triangle, as gonum's SymDense has it.
	a := la.Symmetric[T]{Uplo: blas.Upper, N: c.n, Data: c.a, Stride: c.n}
	return func() error { return chol.Factorize(a) }, func() float64 {
		chol.LTo(la.Triangular[T]{Uplo: blas.Lower, Diag: blas.NonUnit, N: c.n, Data: c.oursL, Stride: c.n})
		return c.judge.lower(c.oursL)
	}
}

func (c *cholesky[T]) theirs(lib *library[T], uplo byte) (restore func(), call func() int, residual func() float64) {
	// The column-major lower triangle is the upper one by rows.
	judge := c.judge.upper
	if uplo == 'U' {
		judge = c.judge.lower
	}
	return func() { copy(c.theL, c.a) }, func() int { return lib.potrf(uplo, c.n, c.theL) },
		func() float64 { return judge(c.theL) }
}

func (c *cholesky[T]) variants() string { return "LU" }
func (c *cholesky[T]) bound() float64   { return factorBound }

func (c *cholesky[T]) tile(e *la.Engine) int {
	nb, _ := la.TileSize[T](e, la.OpCholesky, c.n, c.n)
	return nb
}
