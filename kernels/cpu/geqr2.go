package cpu

import (
	"math"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels/cpu/isa"
)

// ReflectorBlock returns the number of columns of the block reflectors that [Packed.Geqr2] makes, or 0 if the instruction
// set has no kernel for it.
func (p *Packed[T]) ReflectorBlock() int {
	if p.kernels == nil || p.kernels.Larf == nil {
		return 0
	}
	return p.kernels.Lanes
}

// Geqr2 overwrites the first k ≤ min(m, n) columns of a small m×n matrix A with R and V of their QR factorization, and the
// others with Qᵀ times them. t gets the T of block reflectors of ReflectorBlock columns, as [QRRoutines] has them, or with
// ldt = 0 the factors of the k reflectors. Squares of the columns' norms neither over- nor underflow.
//
// One call of a kernel makes all inner products of a reflector's vector with the columns at hand, those that are for T
// among them, and reflects. The squares of the next column come with that.
//
// Reference: LAPACK xGEQR2, xLARFT.
func (p *Packed[T]) Geqr2(m, n, k int, a []T, lda int, t []T, ldt int) {
	checkMatrix(m, n, len(a), lda)
	size := scalar.Size[T]()
	r := isa.Larf[T]{LD: lda * size}
	lanes, strip, squares := p.kernels.Lanes, p.kernels.Strip, 0.0
	for j := range k {
		c := j % lanes // the column in its block
		if c == 0 {
			squares = columnSquares(m-j, a[j*lda+j:], lda)
		}
		tau, beta, factor := smallReflector(m-j, a[j*lda+j:], lda, squares)
		if tau != 0 {
			r.M, r.Factor, r.Tau = m-j, factor, tau
			for l := range lanes {
				r.Scale[l], r.Taus[l] = 1, tau
				if l <= c {
					r.Taus[l] = 0
				}
			}
			r.Scale[c] = factor
			r.A, r.C, r.N = &a[j*lda+j-c], c*size, min(strip, n-j+c)
			p.kernels.Larf(isa.Hide(&r))
			if s := j - c + strip; s < n {
				rest := r
				rest.Factor, rest.Scale[c] = 1, 1 // the column is v now
				for l := range lanes {
					rest.Taus[l] = tau
				}
				for ; s < n; s += strip {
					rest.A, rest.C, rest.N = &a[j*lda+s], (j-s)*size, min(strip, n-s)
					p.kernels.Larf(isa.Hide(&rest))
				}
			}
			a[j*lda+j] = beta
		}
		squares = float64(r.Squares[(c+1)%lanes])
		if tau == 0 && c+1 < lanes && j+1 < k {
			squares = columnSquares(m-j-1, a[(j+1)*lda+j+1:], lda)
		}
		if ldt == 0 {
			t[j] = tau
			continue
		}
		for i := range c {
			s := T(0)
			for l, x := range t[i*ldt+j-c+i : i*ldt+j] {
				s += x * r.W[i+l]
			}
			t[i*ldt+j] = -tau * s
		}
		t[c*ldt+j] = tau
	}
}

// columnSquares returns the sum of squares of m elements that are inc apart.
func columnSquares[T Element](m int, x []T, inc int) (s float64) {
	for i := range m {
		v := float64(x[i*inc])
		s += v * v
	}
	return s
}

// smallReflector returns the reflector of a column of m elements that are inc apart: tau, the element beta that remains,
// and the factor that makes v of the elements below. squares is the sum of the squares, whose rounding errors are those of
// T. Without elements below, or if they are zero, tau is.
//
// Reference: LAPACK xLARFG.
func smallReflector[T Element](m int, x []T, inc int, squares float64) (tau, beta, factor T) {
	if m == 1 {
		return 0, x[0], 0
	}
	alpha := float64(x[0])
	if !(squares > alpha*alpha*(1+16*scalar.Eps[T]())) || squares < leastSum[T]() {
		if squares = columnSquares(m-1, x[inc:], inc); squares == 0 {
			return 0, x[0], 0
		}
		squares += alpha * alpha
	}
	b := -math.Copysign(math.Sqrt(squares), alpha)
	return T((b - alpha) / b), T(b), T(1 / (alpha - b))
}

// leastSum is the least sum of squares in T that has lost nothing that counts to underflow.
func leastSum[T Element]() float64 { return scalar.Pick[T](0x1p-100, leastSquares) }
