package cpu

import (
	"github.com/tessera-la/tessera/kernels/cpu/isa"
	"gonum.org/v1/gonum/blas"
)

// Hessenberg reduces matrices to Hessenberg form, and makes the orthogonal matrix of the reduction.
type Hessenberg[T Element] struct{ condensed[T] }

// NewHessenberg returns the reduction by a set of routines and a crew. If crew is nil, the caller's goroutine does all
// the work. The bits of the result do not depend on the crew.
func NewHessenberg[T Element](r Routines[T], crew Crew[T]) *Hessenberg[T] {
	return &Hessenberg[T]{newCondensed(r, crew)}
}

const (
	// gehrdPanel is the number of columns that are reduced before the rest of the matrix is updated.
	gehrdPanel = 32
	// gehrdBlock is the number of rows, or columns, of the rest that one part updates.
	gehrdBlock = 128
	// gehrdPart is the number of elements of A that a part of a step multiplies, at least.
	gehrdPart = 1 << 15
)

// GehrdWork returns the number of elements of scratch that Gehrd needs for order n.
func GehrdWork(n int) int { return 2*gehrdPanel*n + gehrdPanel*gehrdPanel + n }

// Gehrd reduces rows and columns lo to hi of the n×n matrix A to Hessenberg form,
//
//	Qᵀ·A·Q = H,  Q = H(lo)·…·H(hi−1),  H(i) = I − tau(i)·v(i)·v(i)ᵀ.
//
// A is upper triangular in the other columns below and rows left of them. v(i) is zero up to element i and after element
// hi, has 1 as element i+1, and overwrites column i of a from row i+2 on. The rest of a becomes H. tau has n elements, of
// which those from lo to hi−1 are written.
//
// work holds at least [GehrdWork] elements. Squares of the elements of A must neither overflow nor underflow.
//
// If Stop ends the reduction, the results are undefined.
//
// References: LAPACK xGEHRD and xLAHR2; Quintana-Ortí and van de Geijn, Improving the performance of reduction to
// Hessenberg form (2006).
func (t *Hessenberg[T]) Gehrd(n, lo, hi int, a []T, lda int, tau, work []T) {
	checkMatrix(n, n, len(a), lda)
	p := hessenbergPanel[T]{Hessenberg: t, n: n, end: hi + 1, a: a, lda: lda}
	p.v, p.y, p.f, p.column = take(&work, gehrdPanel*n), take(&work, gehrdPanel*n), take(&work, gehrdPanel*gehrdPanel), take(&work, n)
	for k := lo; k < hi && !t.stopped(); k += gehrdPanel {
		nb := min(gehrdPanel, hi-k)
		p.reduce(k, nb, tau)
		p.right(k, nb)
		p.left(k, nb)
	}
}

// hessenbergPanel is the reduction of a panel, some columns. After it, the rest of A becomes (I − Vᵀ·Fᵀ·V)·(A − Yᵀ·V).
// Each step computes one row of V, the vector of a reflector, and one of Y = (A·Vᵀ·F)ᵀ.
type hessenbergPanel[T Element] struct {
	*Hessenberg[T]
	n, end int // A is reduced before row and column end
	a      []T
	lda    int
	v, y   []T // rows are n elements apart
	f      []T // the factor of the block reflector, upper triangular
	column []T // scratch for a column of A
}

// reduce reduces columns k to k+nb−1, and computes the columns of Y below k.
func (t *hessenbergPanel[T]) reduce(k, nb int, tau []T) {
	const ldf = gehrdPanel
	n, end, top := t.n, t.end, k+1
	var w, u [gehrdPanel]T
	b := t.column[:end]
	for i := k; i < k+nb; i++ {
		step := i - k // the number of steps of this panel before this one
		for r := top; r < end; r++ {
			b[r] = t.a[r*t.lda+i]
		}
		if step > 0 {
			// The earlier steps of this panel have not changed column i of A yet, neither from the right nor from the left.
			t.subtract(step, end-top, t.y[top:], t.v[i:], n, n, b[top:])
			clear(w[:step])
			t.products(step, end-top, t.v[top:], n, b[top:], w[:step])
			for p := range step {
				u[p] = 0
				for q := range p + 1 {
					u[p] += t.f[q*ldf+p] * w[q]
				}
			}
			t.subtract(step, end-top, t.v[top:], u[:], n, 1, b[top:])
		}
		var beta T
		v := t.v[step*n:][:n]
		clear(v[:i+1])
		copy(v[i+1:end], b[i+1:])
		clear(v[end:])
		tau[i], beta = t.larfg(v[i+1 : end])
		v[i+1] = 1
		for r := top; r <= i; r++ {
			t.a[r*t.lda+i] = b[r]
		}
		t.a[(i+1)*t.lda+i] = beta

		clear(w[:])
		t.products(step, end-i-1, t.v[i+1:], n, v[i+1:end], w[:step])
		t.multiply(i, step, v, w[:], tau[i])
		for p := range step {
			var s T
			for q := p; q < step; q++ {
				s += t.f[p*ldf+q] * w[q]
			}
			t.f[p*ldf+step] = -tau[i] * s
		}
		for p := step; p < gehrdPanel; p++ {
			t.f[p*ldf+step] = 0
		}
		t.f[step*ldf+step] = tau[i]
	}
	for r := k + 2; r < end; r++ {
		row := t.a[r*t.lda+k:][:min(nb, r-k-1)]
		for p := range row {
			row[p] = t.v[p*n+r]
		}
	}
}

// multiply computes row step of Y below column k,
//
//	y = tau·(A·v − Yᵀ·w).
//
// It reads all that is left of A, once in a step: the memory bounds it.
func (t *hessenbergPanel[T]) multiply(i, step int, v, w []T, tau T) {
	n, end, top := t.n, t.end, i-step+1
	cols := end - i - 1
	rows := max(8, (gehrdPart/cols+7)&^7)
	y := t.y[step*n:]
	part := func(lo, hi int) {
		to := y[lo:hi:hi]
		clear(to)
		t.products(len(to), cols, t.a[lo*t.lda+i+1:], t.lda, v[i+1:end], to)
		t.subtract(step, len(to), t.y[lo:], w, n, 1, to)
		scalWith(&t.vectors, tau, to)
	}
	if parts := (end - top + rows - 1) / rows; parts > 1 {
		t.crew(parts, 0, func(p, _ int, _ []T) { part(top+p*rows, min(top+(p+1)*rows, end)) })
	} else {
		part(top, end)
	}
}

// right computes A −= Yᵀ·V for the columns after the panel, and in the first k+1 rows, of which it makes Y, for those of
// the panel too.
func (t *hessenbergPanel[T]) right(k, nb int) {
	n, end := t.n, t.end
	top := k + 1
	above := (top + gehrdBlock - 1) / gehrdBlock
	below := (end - top + gehrdBlock - 1) / gehrdBlock
	if k+nb >= end {
		below = 0
	}
	t.crew(above+below, 2*gehrdBlock*gehrdPanel+t.Work(n), func(part, _ int, work []T) {
		if part >= above {
			i := top + (part-above)*gehrdBlock
			t.Gemm(blas.Trans, blas.NoTrans, min(gehrdBlock, end-i), end-k-nb, nb, -1, t.y[i:], n, t.v[k+nb:], n, 1,
				t.a[i*t.lda+k+nb:], t.lda, work)
			return
		}
		i := part * gehrdBlock
		m := min(gehrdBlock, top-i)
		av, work := work[:m*nb], work[m*nb:]
		y, work := work[:m*nb], work[m*nb:]
		target := t.a[i*t.lda+top:]
		t.Gemm(blas.NoTrans, blas.Trans, m, nb, end-top, 1, target, t.lda, t.v[top:], n, 0, av, nb, work)
		t.Gemm(blas.NoTrans, blas.NoTrans, m, nb, nb, 1, av, nb, t.f, gehrdPanel, 0, y, nb, work)
		t.Gemm(blas.NoTrans, blas.NoTrans, m, end-top, nb, -1, y, nb, t.v[top:], n, 1, target, t.lda, work)
	})
}

// left multiplies the columns after the panel by I − Vᵀ·Fᵀ·V.
func (t *hessenbergPanel[T]) left(k, nb int) {
	n, top := t.n, k+1
	m := t.end - top
	first := k + nb
	parts := (n - first + gehrdBlock - 1) / gehrdBlock
	t.crew(parts, 2*gehrdBlock*gehrdPanel+t.Work(n), func(part, _ int, work []T) {
		j := first + part*gehrdBlock
		cols := min(gehrdBlock, n-j)
		w, work := work[:nb*cols], work[nb*cols:]
		fw, work := work[:nb*cols], work[nb*cols:]
		target := t.a[top*t.lda+j:]
		t.Gemm(blas.NoTrans, blas.NoTrans, nb, cols, m, 1, t.v[top:], n, target, t.lda, 0, w, cols, work)
		t.Gemm(blas.Trans, blas.NoTrans, nb, cols, nb, 1, t.f, gehrdPanel, w, cols, 0, fw, cols, work)
		t.Gemm(blas.Trans, blas.NoTrans, m, cols, nb, -1, t.v[top:], n, fw, cols, 1, target, t.lda, work)
	})
}

// Orghr sets the n×n matrix X to Qᵀ. Gehrd has left the reflectors of Q in a and tau. work holds at least
// ReflectorsWork(n, n−1) elements.
//
// Reference: LAPACK xORGHR.
func (t *Hessenberg[T]) Orghr(n, lo, hi int, a []T, lda int, tau, x []T, ldx int, work []T) {
	checkMatrix(n, n, len(a), lda)
	checkMatrix(n, n, len(x), ldx)
	for i := range n {
		clear(x[i*ldx:][:n])
		x[i*ldx+i] = 1
	}
	if lo >= hi {
		return
	}
	order := hi - lo + 1
	in := vectorsIn[T]{a: a[lo*lda+lo:], lda: lda, offset: 1, columns: true}
	t.applyReflectors(order, order, order-1, in, true, tau[lo:], x[lo*ldx+lo:], ldx, work)
}

// Reflect computes
//
//	s = x + f₀·y + f₁·z,  x, y, z −= f₂·s, f₃·s, f₄·s
//
// for vectors of the same length: the reflector I − f₂·v·vᵀ with v = (1, f₀, f₁) of three rows, if f₃ = f₂·f₀ and
// f₄ = f₂·f₁.
func (t *Hessenberg[T]) Reflect(x, y, z []T, f *[5]T) {
	y, z = y[:len(x)], z[:len(x)]
	if t.vectors.Reflect != nil && len(x) > 0 {
		t.vectors.Reflect(len(x), isa.Hide(&x[0]), isa.Hide(&y[0]), isa.Hide(&z[0]), isa.Hide(f))
		return
	}
	for i, a := range x {
		s := a + f[0]*y[i] + f[1]*z[i]
		x[i], y[i], z[i] = a-f[2]*s, y[i]-f[3]*s, z[i]-f[4]*s
	}
}

// Rot is [Packed.Rot].
func (t *Hessenberg[T]) Rot(x, y []T, c, s T) { rotWith(&t.vectors, x, y, c, s) }

// Axpy is [Packed.Axpy].
func (t *Hessenberg[T]) Axpy(alpha T, x, y []T) { axpyWith(&t.vectors, alpha, x, y) }

// Crew returns the crew.
func (t *Hessenberg[T]) Crew() Crew[T] { return t.crew }

// Larfg overwrites x with the vector v of the reflector I − tau·v·vᵀ that makes a multiple beta of the first unit vector of
// it. The first element of v is 1, and that of x undefined.
func (t *Hessenberg[T]) Larfg(x []T) (tau, beta T) { return t.larfg(x) }
