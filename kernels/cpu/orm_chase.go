package cpu

import "gonum.org/v1/gonum/blas"

const (
	// diamondSweeps is the largest number of sweeps whose reflectors of one step are applied as one block reflector. More
	// have faster products, which multiply more zeros: see docs/internals/measurements.md.
	diamondSweeps = 16
	// diamondRows is how many rows of a block have their zeros left out together: the rows of a tile of AVX-512.
	diamondRows = 8
)

// diamonds is the reflectors of a chase in blocks: those with the same u of consecutive sweeps. Each begins a row further
// down than the one before, so a block looks like a diamond:
//
//	1
//	v 1
//	v v 1
//	v v v
//	  v v
//	    v
type diamonds[T Element] struct {
	n, b, sweeps, steps int
	end                 int // the number of sweeps in all
	Sweeps[T]
	f []T // triangular factors, sweeps·sweeps elements each
}

// OrmChaseWork returns the number of elements of scratch that OrmChase needs.
func OrmChaseWork(n, b int) int { return OrmSweepsWork(max(n-1, 0), n, b) }

// OrmSweepsWork returns the number of elements of scratch that OrmSweeps needs.
func OrmSweepsWork(sweeps, n, b int) int {
	group := min(diamondSweeps, b)
	return (sweeps + group - 1) / group * ChaseSteps(n, b) * group * group
}

// OrmChase overwrites the m×n matrix X with X·Qᵀ, where Q = Π H(s,u), s = 0, …, n−2, u = 0, 1, …, is the product of the
// reflectors q: Q of Sb2st, or Q or P of Tb2bd. work holds at least OrmChaseWork(n, b) elements.
//
// Reference: Haidar, Ltaief and Dongarra (2011), see [Tridiagonal.Sb2st].
func (c *condensed[T]) OrmChase(m, n, b int, q Sweeps[T], x []T, ldx int, work []T) {
	c.OrmSweeps(m, n, b, max(n-1, 0), q, x, ldx, work)
}

// OrmSweeps is OrmChase for the first sweeps only: s = 0, …, sweeps−1. Those after them are the first sweeps of the matrix
// without its first rows and columns, and are applied before. work holds at least OrmSweepsWork(sweeps, n, b) elements.
//
// Some groups of sweeps are applied together: the last one of them and then those before it, step by step. The reflectors of
// one sweep commute, as they have no row in common. In Q H(s,u+1) comes before H(s+1,u), so X·Qᵀ applies H(s+1,u) first. A
// block of step u has no row in common with those of step u+1 of the groups before it. So columns of X that are in the
// second-level cache meet all groups there: see sweepWindow.
func (c *condensed[T]) OrmSweeps(m, n, b, sweeps int, q Sweeps[T], x []T, ldx int, work []T) {
	checkMatrix(m, n, len(x), ldx)
	if m == 0 || n < 2 {
		return
	}
	d := diamonds[T]{n: n, b: b, end: sweeps, sweeps: min(diamondSweeps, b), steps: ChaseSteps(n, b), Sweeps: q, f: work}
	groups, wide := (sweeps+d.sweeps-1)/d.sweeps, b+d.sweeps-1
	const gram = reflectorPanel * reflectorPanel
	c.crew(groups, diamondSweeps*wide+2*gram+c.Work(max(wide, reflectorPanel)), func(group, _ int, work []T) {
		rows, work := work[:diamondSweeps*wide], work[diamondSweeps*wide:]
		products, factor, work := work[:gram], work[gram:2*gram], work[2*gram:]
		var taus [diamondSweeps]T
		for u := 0; !c.stopped(); u++ {
			_, nb, cols := d.block(group, u, rows)
			if nb == 0 {
				return
			}
			for i := range nb {
				taus[i] = q.Tau[(group*d.sweeps+i)*d.steps+u]
			}
			c.Gemm(blas.NoTrans, blas.Trans, nb, nb, cols, 1, rows, cols, rows, cols, 0, products, reflectorPanel, work)
			c.factorOfBlock(nb, products, taus[:nb], factor)
			for i := range nb {
				copy(d.factor(group, u)[i*d.sweeps:][:nb], factor[i*reflectorPanel:])
			}
		}
	})
	parts, height := rowParts(m, sweepRows)
	together := min(max(windowSweeps/d.sweeps, 1), groups)
	window := newSweepWindow(kernelsOf(c.Routines), n, b, together*d.sweeps, min(m, height))
	c.crew(parts, diamondSweeps*(2*wide+window.ld)+window.size()+c.Work(max(window.ld, wide)), func(part, _ int, work []T) {
		rows, work := work[:diamondSweeps*wide], work[diamondSweeps*wide:]
		times, work := work[:diamondSweeps*wide], work[diamondSweeps*wide:]
		y, work := work[:diamondSweeps*window.ld], work[diamondSweeps*window.ld:]
		w, work := window.of(min(height, m-part*height), x[part*height*ldx:], ldx, work), work[window.size():]
		for end := groups; end > 0; end -= together {
			begin := max(end-together, 0)
			w.begin(begin*d.sweeps + 1)
			for u := 0; u < d.steps && !c.stopped(); u++ {
				w.advance(begin*d.sweeps + 1 + u*b)
				for group := end - 1; group >= begin; group-- {
					first, nb, cols := d.block(group, u, rows)
					if nb == 0 {
						continue
					}
					// X − (X·Vᵀ)·(Fᵀ·V), transposed: V has fewer rows than X.
					c.Gemm(blas.Trans, blas.NoTrans, nb, cols, nb, -1, d.factor(group, u), d.sweeps, rows, cols, 0, times, cols, work)
					for i := 0; i < w.rows; i += w.high {
						c.applyDiamond(nb, min(w.high, w.rows-i), cols, b, rows, times, y, w.at(i, first), w.ld, work)
					}
				}
			}
			w.advance(n)
		}
	})
}

// applyDiamond adds (X·Vᵀ)·(−Fᵀ·V), transposed, to m rows of the transpose of X. v is the nb×cols matrix V, and times the
// product −Fᵀ·V. Row j of V begins in column j and has b elements, and row j of the product has those before column j+b. Most of
// the zeros are left out, diamondRows rows at a time.
func (c *condensed[T]) applyDiamond(nb, m, cols, b int, v, times, y, x []T, ldx int, work []T) {
	for j := 0; j < nb; j += diamondRows {
		rows := min(diamondRows, nb-j)
		c.Gemm(blas.NoTrans, blas.NoTrans, rows, m, min(rows-1+b, cols-j), 1, v[j*cols+j:], cols, x[j*ldx:], ldx, 0, y[j*ldx:], ldx, work)
	}
	for j, at := 0, 0; j < nb && at < cols; j += diamondRows {
		end := min(j+diamondRows+b, cols)
		c.Gemm(blas.Trans, blas.NoTrans, end-at, m, nb-j, 1, times[j*cols+at:], cols, y[j*ldx:], ldx, 1, x[at*ldx:], ldx, work)
		at = end
	}
}

// factor returns the triangular factor of a block.
func (d *diamonds[T]) factor(group, u int) []T {
	size := d.sweeps * d.sweeps
	return d.f[(group*d.steps+u)*size:][:size]
}

// block copies the nb reflectors of a block to rows of cols elements. They are zero before element first.
func (d *diamonds[T]) block(group, u int, rows []T) (first, nb, cols int) {
	s := group * d.sweeps
	first = s + 1 + u*d.b
	nb = min(d.sweeps, d.end-s, d.n-first) // each sweep begins a row further down
	if nb <= 0 {
		return first, 0, 0
	}
	cols = min(nb-1+d.b, d.n-first)
	for i := range nb {
		row := rows[i*cols:][:cols]
		clear(row)
		copy(row[i:], d.V[(s+i)*d.Stride+first+i:][:min(d.b, cols-i)])
	}
	return first, nb, cols
}
