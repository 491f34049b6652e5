package op

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// Sy2sbqr is the parameter of op "sy2sbqr": a panel of the reduction of a symmetric N×N matrix A in tiles of NB×NB to a band
// of B superdiagonals,
//
//	Qᵀ·A·Q = C,  Q = Q(0)·Q(1)·…,  Q(s) = I − V·F·Vᵀ.
//
// The panel is the Rows rows of A from First on, all in one row of tiles. P is the part of them from column First+B on:
//
//	Pᵀ = Q(s)·R
//
// Before that, the op completes the step before it: from the products Y = A·V' of op "sy2sbmm" with the V' and F' of the
// last panel, it computes
//
//	Z = Y·F',  W = Z − ½·V'·F'ᵀ·(V'ᵀ·Z),
//
// by which A −= V'·Wᵀ + W·V'ᵀ, here for the rows of the panel.
//
// Operands, in order: V (out, N−First−Rows rows, Rows columns) and F (out, Rows×Rows), unless these are the last rows;
// C (out, Rows×(B+Rows): row i has columns First to First+B+Rows−1 of the band's row First+i from its diagonal on); W
// (out), if First > 0; the rows R of op "sy2sbmm" from all columns of tiles from the diagonal on (in); and if First >
// 0, V' (in, N−First rows), F' (in), and the Y of one or more sets of columns (in), which are added. W and Y have
// N−First rows or more, of which the last ones count. V has its ones and zeros stored. Its first B−Rows rows are zero.
//
// Reference: see [cpu.Tridiagonal.Sy2sb].
type Sy2sbqr struct {
	N, NB, B, First, Rows int
}

// Validate returns an error if a field is out of range.
func (p *Sy2sbqr) Validate() error { return check("sy2sbqr", p) }

// sy2sbqrOp defines op "sy2sbqr".
func sy2sbqrOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:    versions.Op{Name: "sy2sbqr", Work: sy2sbqrWork[T], NewParams: fresh[Sy2sbqr]},
		about: "reduction to a band: a panel",
		run:   sy2sbqr[T],
		help:  byWork[T](sy2sbqrWork[T]),
	}
}

// bandPanel is the operands of a call of op "sy2sbqr".
type bandPanel[T kernels.Element] struct {
	*Sy2sbqr
	v, f, c, w, vOld, fOld *kernels.Tile[T] // nil if there is none
	rows, y                []any
	rest                   int // N−First
	old                    int // columns of V'
}

// sy2sbqrOf returns the operands of op "sy2sbqr".
func sy2sbqrOf[T kernels.Element](call *versions.Call) (p bandPanel[T]) {
	p.Sy2sbqr = params[Sy2sbqr](call)
	p.rest = p.N - p.First
	panicIf(p.NB < 1 || p.Rows < 1 || p.Rows > p.B || p.Rows > p.rest || p.First/p.NB != (p.First+p.Rows-1)/p.NB, kernels.ErrShape)
	next := 0
	take := func(rows, cols int, more bool) *kernels.Tile[T] {
		t := arg[T](call, next)
		next++
		panicIf(t.Cols < cols || t.Rows < rows || !more && (t.Rows > rows || t.Cols > cols), kernels.ErrShape)
		return t
	}
	if p.Rows < p.rest {
		p.v, p.f = take(p.rest-p.Rows, p.Rows, false), take(p.Rows, p.Rows, false)
	}
	p.c = take(p.Rows, p.B+p.Rows, false)
	if p.First > 0 {
		p.w = take(p.rest, 0, true)
	}
	first := next
	for j := p.First / p.NB; j*p.NB < p.N; j++ {
		if r := take(p.Rows, 0, true); r.Cols != min(p.NB, p.N-j*p.NB) {
			panic(kernels.ErrShape)
		}
	}
	p.rows = call.Args[first:next]
	if p.First > 0 {
		p.vOld = take(p.rest, 0, true)
		p.old = p.vOld.Cols
		p.fOld = take(p.old, p.old, false)
		for first = next; next < len(call.Args); {
			take(p.rest, p.old, true)
		}
		p.y = call.Args[first:]
		panicIf(len(p.y) == 0 || p.w.Cols < p.old || p.vOld.Rows != p.rest, kernels.ErrShape)
	}
	panicIf(next != len(call.Args), kernels.ErrArgs)
	return p
}

// sy2sbqrWork returns the work of the factorization, and of the products with the last panel.
func sy2sbqrWork[T kernels.Element](call *versions.Call) float64 {
	p := sy2sbqrOf[T](call)
	n, k, old := float64(p.rest), float64(p.Rows), float64(p.old)
	return 2*max(n-float64(p.B), 0)*k*k + 6*n*old*old + 4*n*k*old
}

// sy2sbqr returns the function of a version of op "sy2sbqr".
func sy2sbqr[T kernels.Element](by implementation[T]) func(*versions.Call) error {
	return func(call *versions.Call) error {
		p := sy2sbqrOf[T](call)
		crew := crewOrAlone[T](call)
		n, k, b := p.rest, p.Rows, p.B
		m := max(n-b, 0)
		const part = 256 // rows
		parts := (n + part - 1) / part
		size := by.qr.Work(max(m, k), k, k)
		all := versions.Scratch[T](call.Work, n*k+n*p.old+(parts+1)*p.old*p.old+size)
		t, all := all[:n*k], all[n*k:] // the panel, transposed
		z, all := all[:n*p.old], all[n*p.old:]
		gram, work := all[:(parts+1)*p.old*p.old], all[(parts+1)*p.old*p.old:]
		if p.First > 0 {
			p.complete(by.blas, crew, part, parts, z, gram)
		}
		crew(parts, by.blas.Work(max(part, k, p.old)), func(i, _ int, work []T) { p.load(by.blas, t, i*part, min((i+1)*part, n), work) })
		for i := range k {
			row := p.c.Row(i)
			clear(row)
			for j := i; j < min(b, n); j++ {
				row[j] = t[j*k+i]
			}
		}
		if p.v == nil {
			return nil
		}
		for i := range p.f.Rows {
			clear(p.f.Row(i))
		}
		for i := range p.v.Rows {
			clear(p.v.Row(i))
		}
		if m == 0 {
			return nil
		}
		x := t[b*k:]
		by.qr.Geqrt(m, k, k, x, k, p.f.Data, p.f.Stride, work)
		for i := range k {
			for j := range min(i+1, m) {
				p.c.Row(i)[b+j] = x[j*k+i]
			}
		}
		for j := range m {
			row := p.v.Row(b - k + j)
			copy(row[:min(j, k)], x[j*k:])
			if j < k {
				row[j] = 1
			}
		}
		return nil
	}
}

// complete computes W. Parts of rows are high rows each.
func (p *bandPanel[T]) complete(r cpu.Routines[T], crew cpu.Crew[T], high, parts int, z, gram []T) {
	k, n := p.old, p.rest
	if k == 0 {
		return
	}
	crew(parts, high*k+r.Work(max(high, k)), func(part, _ int, work []T) {
		lo, hi := part*high, min((part+1)*high, n)
		y, work := work[:high*k], work[high*k:]
		for s, set := range p.y {
			for i := lo; i < hi; i++ {
				to, from := y[(i-lo)*k:][:k], atEnd(set.(*kernels.Tile[T]), n, i)[:k]
				if s == 0 {
					copy(to, from)
					continue
				}
				for l, x := range from {
					to[l] += x
				}
			}
		}
		v := p.vOld
		r.Gemm(blas.NoTrans, blas.NoTrans, hi-lo, k, k, 1, y, k, p.fOld.Data, p.fOld.Stride, 0, z[lo*k:], k, work)
		r.Gemm(blas.Trans, blas.NoTrans, k, k, hi-lo, 1, atEnd(v, n, lo), v.Stride, z[lo*k:], k, 0, gram[part*k*k:], k, work)
	})
	middle := gram[parts*k*k:]
	crew(1, r.Work(k), func(_, _ int, work []T) {
		sum := gram[:k*k]
		for part := 1; part < parts; part++ {
			for i, x := range gram[part*k*k:][:k*k] {
				sum[i] += x
			}
		}
		r.Gemm(blas.Trans, blas.NoTrans, k, k, k, -0.5, p.fOld.Data, p.fOld.Stride, sum, k, 0, middle, k, work)
	})
	crew(parts, r.Work(max(high, k)), func(part, _ int, work []T) {
		lo, hi := part*high, min((part+1)*high, n)
		for i := lo; i < hi; i++ {
			copy(atEnd(p.w, n, i)[:k], z[i*k:][:k])
		}
		r.Gemm(blas.NoTrans, blas.NoTrans, hi-lo, k, k, 1, atEnd(p.vOld, n, lo), p.vOld.Stride, middle, k, 1, atEnd(p.w, n, lo), p.w.Stride, work)
	})
}

// load copies columns lo to hi−1 of the panel to rows of t, and updates them.
func (p *bandPanel[T]) load(r cpu.Routines[T], t []T, lo, hi int, work []T) {
	k, n := p.Rows, p.rest
	for c := lo; c < hi; c++ {
		at := p.First + c
		rows := p.rows[at/p.NB-p.First/p.NB].(*kernels.Tile[T])
		for i := range k {
			t[c*k+i] = rows.Data[i*rows.Stride+at%p.NB]
		}
	}
	if p.First > 0 && p.old > 0 {
		v, w := p.vOld, p.w
		r.Gemm(blas.NoTrans, blas.Trans, hi-lo, k, p.old, -1, atEnd(w, n, lo), w.Stride, atEnd(v, n, 0), v.Stride, 1, t[lo*k:], k, work)
		r.Gemm(blas.NoTrans, blas.Trans, hi-lo, k, p.old, -1, atEnd(v, n, lo), v.Stride, atEnd(w, n, 0), w.Stride, 1, t[lo*k:], k, work)
	}
}
