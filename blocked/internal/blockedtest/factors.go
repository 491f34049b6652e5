package blockedtest

import (
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/internal/matgen"
	"gonum.org/v1/gonum/blas"
)

// FactorKinds returns the kinds that potrf takes.
func FactorKinds() []blocked.Kind {
	return []blocked.Kind{blocked.SymLower, blocked.SymUpper, blocked.TriLower, blocked.TriUpper, blocked.Full}
}

// ViewKind returns a view of g as a Matrix of the kind. g must be square unless the kind is Full.
func ViewKind[T blocked.Element](g blocked.General[T], kind blocked.Kind, nb int) *blocked.Matrix[T] {
	uplo := kind.Uplo()
	switch kind {
	case blocked.SymLower, blocked.SymUpper:
		return blocked.ViewSymmetric(blocked.Symmetric[T]{Uplo: uplo, N: g.Rows, Data: g.Data, Stride: g.Stride}, nb)
	case blocked.TriLower, blocked.TriUpper:
		return blocked.ViewTriangular(blocked.Triangular[T]{Uplo: uplo, Diag: blas.NonUnit, N: g.Rows, Data: g.Data, Stride: g.Stride}, nb)
	}
	return blocked.View(g, nb)
}

// Generated returns memory with the uplo triangle of the generated matrix, and NaN elsewhere.
func Generated[T blocked.Element](t *testing.T, s matgen.Spec, uplo blas.Uplo) blocked.General[T] {
	t.Helper()
	s.M = s.N
	gen, err := matgen.New[T](s)
	if err != nil {
		t.Fatal(err)
	}
	g := Memory[T](s.N, s.N)
	in := InTriangle(uplo)
	for i := range s.N {
		for j := range s.N {
			if in(i, j) {
				g.Set(i, j, gen.At(i, j))
			}
		}
	}
	return g
}

// TriangleOf returns the triangle in which potrf leaves the factor of a matrix of the kind.
func TriangleOf(kind blocked.Kind) blas.Uplo {
	if kind.Uplo() == blas.Upper {
		return blas.Upper
	}
	return blas.Lower
}
