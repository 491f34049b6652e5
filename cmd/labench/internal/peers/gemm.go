package peers

import (
	"context"

	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
)

// gemm is C = A·B.
type gemm[T matgen.Element] struct {
	n           int
	a, b        []T
	oursC, theC []T
	judge       *product[T]
}

func newGemm[T matgen.Element](seed uint64, n int) (routine[T], error) {
	a, err := generate[T](matgen.Random, Square(n), seed)
	if err != nil {
		return nil, err
	}
	b, err := generate[T](matgen.Random, Square(n), seed+1)
	if err != nil {
		return nil, err
	}
	return &gemm[T]{n, a, b, touched[T](n * n), touched[T](n * n), newProduct(seed+2, n, a, b)}, nil
}

func (g *gemm[T]) ours(e *la.Engine) (call func() error, residual func() float64) {
	a, b, c := general(Square(g.n), g.a), general(Square(g.n), g.b), general(Square(g.n), g.oursC)
	return func() error { return la.Gemm[T](context.Background(), e, blas.NoTrans, blas.NoTrans, 1, a, b, 0, c) },
		func() float64 { return g.judge.residual(g.oursC) }
}

func (g *gemm[T]) theirs(lib *library[T], _ byte) (restore func(), call func() int, residual func() float64) {
	// Seen column-major, A and B are Aᵀ and Bᵀ, and Bᵀ·Aᵀ = (A·B)ᵀ.
	return func() {}, func() int { lib.gemm(g.n, g.b, g.a, g.theC); return 0 },
		func() float64 { return g.judge.residual(g.theC) }
}

func (g *gemm[T]) variants() string { return "-" }
func (g *gemm[T]) bound() float64   { return gemmBound }

func (g *gemm[T]) tile(e *la.Engine) int {
	nb, _ := la.TileSize[T](e, la.OpGemm, g.n, g.n)
	return nb
}
