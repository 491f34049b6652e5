package batch

import (
	"context"

	"github.com/tessera-la/tessera/la"
)

// QR overwrites each m×n A, m ≥ n, with R and, below its diagonal, the vectors of the reflectors that make Q, as LAPACK
// does. tau has Count·n elements, those of matrix k from k·n on. Squares of elements must not over- or underflow.
//
// The error is a *la.ShapeError, the cause of the context's end, or exec.ErrClosed. It panics with la.ErrSliceLength if tau
// has another length. Reference: LAPACK xGEQR2.
func QR[T la.Element](ctx context.Context, e *la.Engine, a Matrices[T], tau []T) error {
	if len(tau) != a.Count*a.Cols {
		panic(la.ErrSliceLength)
	}
	return factorQR(ctx, e, "batch.QR", a, tau, nil, true)
}

// QRSolve overwrites the first n rows of each m×nrhs B with the X that minimizes ‖B − A·X‖₂ by columns, for what [QR] made
// of A and tau. The other rows of B are undefined. A zero on R's diagonal gives infinities and NaN.
//
// The errors and the panic are those of QR. Reference: LAPACK xORMQR, xTRTRS.
func QRSolve[T la.Element](ctx context.Context, e *la.Engine, qr Matrices[T], tau []T, b Matrices[T]) error {
	if len(tau) != qr.Count*qr.Cols {
		panic(la.ErrSliceLength)
	}
	return factorQR(ctx, e, "batch.QRSolve", qr, tau, &b, false)
}

// LeastSquares overwrites the first n rows of each m×nrhs B with the X that minimizes ‖B − A·X‖₂ by columns, where A is
// m×n, m ≥ n, and A with what [QR] makes of it. The other rows of B are undefined.
//
// The error is one of QR, or an *[Error] whose failures are *la.SingularError if R has a zero on its diagonal. Reference:
// LAPACK xGELS.
func LeastSquares[T la.Element](ctx context.Context, e *la.Engine, a, b Matrices[T]) error {
	return factorQR(ctx, e, "batch.LeastSquares", a, nil, &b, true)
}

// factorQR factors a, if it is to, and solves for b if that is not nil. tau may be nil if it does both.
func factorQR[T la.Element](ctx context.Context, e *la.Engine, name string, a Matrices[T], tau []T, b *Matrices[T], factor bool) error {
	if err := complete(name, "ab", &a, b); err != nil {
		return err
	}
	m, n, nrhs := a.Rows, a.Cols, 0
	if b != nil {
		nrhs = b.Cols
	}
	if err := shapes(name, m >= n && (b == nil || b.Rows == m), &a, b); err != nil || n == 0 {
		return err
	}
	work := float64(m) * float64(n) * (2*float64(n) + 4*float64(nrhs))
	// Loops over single matrices take longer than over interleaved ones also where these do not fit the nearest cache.
	return run(ctx, e, a.Count, max(m/4, n/2), work, func(w *worker[T], lo, hi int, interleaved bool, infos []int) {
		if !interleaved {
			for p := lo; p < hi; p++ {
				infos[p-lo] = w.qr(&a, tau, b, p, factor)
			}
			return
		}
		lanes := w.lanes.Count()
		w.a, w.t = atLeast(w.a, m*n*lanes), atLeast(w.t, n*lanes)
		taus := Matrices[T]{Count: a.Count, Rows: 1, Cols: n, Stride: n, Step: n, Data: tau}
		w.gather(w.a, &a, lo)
		if factor {
			w.lanes.Geqrf(m, n, w.a, w.t)
			w.scatter(&a, m, lo, w.a)
			if tau != nil {
				w.scatter(&taus, 1, lo, w.t)
			}
		} else {
			w.gather(w.t, &taus, lo)
		}
		if nrhs > 0 {
			if factor {
				for j := n - 1; j >= 0; j-- {
					for l, r := range w.a[(j*n+j)*lanes:][:lanes] {
						if r == 0 {
							infos[l] = j + 1
						}
					}
				}
			}
			w.b = atLeast(w.b, m*nrhs*lanes)
			w.gather(w.b, b, lo)
			w.lanes.Geqrs(m, n, nrhs, w.a, w.t, w.b)
			w.scatter(b, n, lo, w.b)
		}
	}, singular)
}

// qr is factorQR of problem p. It returns the first column, from 1, whose diagonal element of R is zero, or 0.
func (w *worker[T]) qr(a *Matrices[T], tau []T, b *Matrices[T], p int, factor bool) (info int) {
	m, n, v := a.Rows, a.Cols, a.at(p)
	t := w.tau(n)
	if tau != nil {
		t = tau[p*n : (p+1)*n]
	}
	if factor {
		w.small.Geqr2(m, n, v, a.Stride, t)
	}
	if b == nil || b.Cols == 0 {
		return 0
	}
	for j := 0; j < n && factor && info == 0; j++ {
		if v[j*a.Stride+j] == 0 {
			info = j + 1
		}
	}
	if info == 0 {
		x := b.at(p)
		w.small.Ormqr(m, b.Cols, n, v, a.Stride, t, x, b.Stride)
		w.small.Trsm(false, false, false, n, b.Cols, v, a.Stride, x, b.Stride)
	}
	return info
}

// tau returns scratch for the factors of n reflectors.
func (w *worker[T]) tau(n int) []T {
	w.t = atLeast(w.t, n)
	return w.t[:n]
}
