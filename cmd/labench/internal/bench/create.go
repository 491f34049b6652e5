package bench

import (
	"context"
	"fmt"
	"math"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/file"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/la"
)

// makers returns, for each operation, the function that makes its matrices.
func makers[T la.Element]() map[string]func(*maker[T]) problem {
	return map[string]func(*maker[T]) problem{"gemm": newGemm[T], "syrk": newSyrk[T], "trsm": newTrsm[T], "cholesky": newCholesky[T],
		"lu": newLU[T], "qr": newQR[T], "solve": newSystem[T], "lstsq": newLstsq[T],
		"eigen": newEigenproblem[T], "svd": newSVD[T]}
}

// newEigenproblem makes the matrix of the eigenproblem that is asked for, or its matrices.
func newEigenproblem[T la.Element](f *maker[T]) problem {
	switch {
	case f.spec.General:
		return newEigenGeneral(f)
	case f.spec.B != matgen.Random:
		return newEigenGeneralized(f)
	}
	return newEigen(f)
}

// newProblem makes the matrices of s. It returns the problem, and s with the shape of the matrix in an input
// file.
func newProblem[T la.Element](ctx context.Context, s Spec, workers int) (problem, Spec, error) {
	if s.Distributed {
		return newDistributed[T](ctx, s)
	}
	var input *blocked.Matrix[T]
	if s.Input != "" {
		opt := &file.ReadOptions{MaxBytes: math.MaxInt64, Workers: workers, Warn: s.Warn}
		opt.Check = func(h file.Header) (err error) { // before a compressed file is decompressed
			if s, err = find(s.Op).take(s, h.Rows, h.Cols); err == nil {
				err = fits(s)
			}
			return err
		}
		var err error
		if input, err = file.Read[T](s.Input, opt); err != nil {
			return nil, s, err
		}
	}
	f := &maker[T]{base: base[T]{s.Seed, workers}, ctx: ctx, spec: s, input: input}
	p := makers[T]()[s.Op](f)
	return p, s, f.err
}

// newDistributed returns the problem, and s with the order of the matrix in the input file.
func newDistributed[T la.Element](ctx context.Context, s Spec) (problem, Spec, error) {
	p := distributed[T]{ctx: ctx, s: s}
	if s.Input != "" {
		var err error
		if p.input, err = file.OpenArray(s.Input); err != nil {
			return nil, s, err
		}
		m, n := p.input.Dims()
		if s, err = find(s.Op).take(s, m, n); err != nil {
			return nil, s, err
		}
		if s.Op != "lstsq" && (m != n || s.M != n || s.N != n) {
			return nil, s, &ShapeError{s.Input, fmt.Sprintf("the matrix is %d×%d, and all have to be square", m, n)}
		}
		p.s = s
	}
	if s.Op == "eigen" {
		return &distributedEigen[T]{distributed: p}, s, nil
	}
	if s.Op == "solve" || s.Op == "lstsq" {
		return &distributedSystem[T]{distributed: p}, s, nil
	}
	return &p, s, nil
}
