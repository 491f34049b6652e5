//go:build cuda && linux

package cuda

import "gonum.org/v1/gonum/blas"

// Products of nothing only scale C. NVIDIA's documentation does not say that its
// products do so for k = 0, nor that they leave A and B alone for alpha = 0; what
// it does say is that geam does not read B for beta = 0.

// scale computes C = beta·C, C being m×n. With beta = 0, C is not read.
func (s *realStream) scale(typ Type, m, n int, beta float64, c Matrix) error {
	switch {
	case m == 0 || n == 0 || beta == 1:
		return nil
	case beta == 0:
		return s.clear(typ, m, n, c)
	}
	return s.Geam(typ, m, n, beta, c, 0, c, c)
}

// scaleTriangle does it to a triangle of C, which is n×n, column by column.
func (s *realStream) scaleTriangle(typ Type, uplo blas.Uplo, n int, beta float64, c Matrix) error {
	for j := range n {
		first, rows := 0, j+1
		if uplo == blas.Lower {
			first, rows = j, n-j
		}
		column := Matrix{c.Data + Ptr(int64(first+j*c.Ld)*typ.Size()), c.Ld}
		if err := s.scale(typ, rows, 1, beta, column); err != nil {
			return err
		}
	}
	return nil
}
