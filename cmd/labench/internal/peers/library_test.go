package peers

import (
	"math"
	"testing"

	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/kernels/cpu"
	"gonum.org/v1/gonum/blas"
)

// portable is a library made of the portable kernels and of textbook
// algorithms, so that comparisons are tested in every build. parallel counts the
// calls with more than one thread.
func portable[T matgen.Element](t *testing.T) (l library[T], parallel *int) {
	t.Helper()
	r := cpu.Portable[T]()
	threads := 0
	parallel = new(int)
	count := func() {
		if threads > 1 {
			*parallel++
		} else {
			t.Error("the library is called with one thread")
		}
	}
	return library[T]{
		threads: func(n int) { threads = n },
		gemm: func(n int, a, b, c []T) {
			count()
			// Column-major C = A·B is row-major Cᵀ = Bᵀ·Aᵀ.
			r.Gemm(blas.NoTrans, blas.NoTrans, n, n, n, 1, b, n, a, n, 0, c, n, make([]T, r.Work(n)))
		},
		potrf: func(uplo byte, n int, a []T) int {
			count()
			flipped := map[byte]blas.Uplo{'L': blas.Upper, 'U': blas.Lower}[uplo]
			return r.Potrf(flipped, n, a, n, make([]T, r.Work(n)))
		},
		getrf: func(m, n int, a []T, ipiv []int32) int { count(); return textbookLU(m, n, a, ipiv) },
		geqrf: func(m, n int, a, tau, work []T) int {
			count()
			if len(work) != n {
				t.Errorf("work has %d elements, want %d", len(work), n)
			}
			textbookQR(m, n, a, tau)
			return 0
		},
		geqrfWork: func(m, n int) int { return n },
		gesv: func(n, nrhs int, a []T, ipiv []int32, b []T) int {
			count()
			info := textbookLU(n, n, a, ipiv)
			for ; nrhs > 0; nrhs-- {
				for i, p := range ipiv {
					b[i], b[p-1] = b[p-1], b[i]
				}
				solveLower(n, a, b, true)
				solveUpper(n, n, a, b)
				b = b[n:]
			}
			return info
		},
		posv: func(uplo byte, n, nrhs int, a, b []T) int {
			count()
			// The other triangle of the symmetric matrix by rows, and so this
			// one in columns; L here, and U as its transpose.
			info := r.Potrf(blas.Lower, n, a, n, make([]T, r.Work(n)))
			for i := range n {
				for j := range i {
					a[j*n+i] = a[i*n+j]
				}
			}
			for ; nrhs > 0; nrhs-- {
				solveLower(n, a, b, false)
				solveUpper(n, n, a, b)
				b = b[n:]
			}
			return info
		},
		gels: func(m, n, nrhs int, a, b, work []T) int {
			count()
			tau := make([]T, n)
			textbookQR(m, n, a, tau)
			for ; nrhs > 0; nrhs-- {
				for j := range n {
					reflect(a[j*m+j+1:(j+1)*m], tau[j], b[j:m])
				}
				solveUpper(m, n, a, b)
				b = b[m:]
			}
			return 0
		},
		gelsWork: func(m, n, nrhs int) int { return n },
	}, parallel
}

// textbookLU is getrf.
func textbookLU[T matgen.Element](m, n int, a []T, ipiv []int32) (info int) {
	for k := range min(m, n) {
		p := k
		for i := k; i < m; i++ {
			if math.Abs(float64(a[k*m+i])) > math.Abs(float64(a[k*m+p])) {
				p = i
			}
		}
		ipiv[k] = int32(p + 1)
		if a[k*m+p] == 0 {
			info = k + 1
			continue
		}
		for j := range n {
			a[j*m+k], a[j*m+p] = a[j*m+p], a[j*m+k]
		}
		for i := k + 1; i < m; i++ {
			a[k*m+i] /= a[k*m+k]
		}
		for j := k + 1; j < n; j++ {
			for i := k + 1; i < m; i++ {
				a[j*m+i] -= a[k*m+i] * a[j*m+k]
			}
		}
	}
	return info
}

// textbookQR is geqrf.
func textbookQR[T matgen.Element](m, n int, a, tau []T) {
	for k := range min(m, n) {
		x := a[k*m+k : (k+1)*m]
		norm := 0.0
		for _, v := range x {
			norm = math.Hypot(norm, float64(v))
		}
		if norm == 0 || len(x) == 1 {
			tau[k] = 0
			continue
		}
		beta := T(-math.Copysign(norm, float64(x[0])))
		tau[k] = (beta - x[0]) / beta
		for i := range x[1:] {
			x[i+1] /= x[0] - beta
		}
		x[0] = beta
		for j := k + 1; j < n; j++ {
			reflect(x[1:], tau[k], a[j*m+k:(j+1)*m])
		}
	}
}

// reflect computes y = (I - tau·v·vᵀ)·y, v = [1; tail].
func reflect[T matgen.Element](tail []T, tau T, y []T) {
	w := y[0]
	for i, v := range tail {
		w += v * y[i+1]
	}
	w *= tau
	y[0] -= w
	for i, v := range tail {
		y[i+1] -= w * v
	}
}

// solveLower and solveUpper solve with a triangle of a matrix in columns.
func solveLower[T matgen.Element](n int, a, b []T, unit bool) {
	for j := range n {
		if !unit {
			b[j] /= a[j*n+j]
		}
		for i := j + 1; i < n; i++ {
			b[i] -= a[j*n+i] * b[j]
		}
	}
}

func solveUpper[T matgen.Element](ld, n int, a, b []T) {
	for j := n - 1; j >= 0; j-- {
		b[j] /= a[j*ld+j]
		for i := range j {
			b[i] -= a[j*ld+i] * b[j]
		}
	}
}
