package cpu

import "gonum.org/v1/gonum/blas"

// applyReflectors multiplies X, the identity if that is set, by the k reflectors with the vectors in and the factors tau.
func (c *condensed[T]) applyReflectors(rows, order, k int, in vectorsIn[T], identity bool, tau, x []T, ldx int, work []T) {
	checkMatrix(rows, order, len(x), ldx)
	switch {
	case rows == 0 || k == 0:
	case order <= reflectorLoop:
		c.applyAlone(rows, order, k, in, tau, x, ldx, work)
	case order <= reflectorPairs && c.few(order):
		c.applyPairs(rows, order, k, in, tau, x, ldx, work)
	default:
		c.applyBlocks(rows, order, k, in, identity, tau, x, ldx, work)
	}
}

// applyBlocks is applyReflectors by block reflectors. It stands alone as its variables are on the heap.
func (c *condensed[T]) applyBlocks(rows, order, k int, in vectorsIn[T], identity bool, tau, x []T, ldx int, work []T) {
	offset, panel := in.offset, reflectorPanel
	if k <= 4*reflectorFew {
		panel = reflectorFew
	}
	blocks := (k + panel - 1) / panel
	size := panel * (order + reflectorPanel)
	blockAt := func(b int) (first, nb, cols int, v, f []T) {
		first = b * panel
		s := work[b*size:][:size]
		return first, min(panel, k-first), order - first - offset, s[:panel*order], s[panel*order:]
	}
	c.crew(blocks, reflectorPanel*reflectorPanel+c.Work(order), func(b, _ int, work []T) {
		first, nb, cols, v, f := blockAt(b)
		in.copy(first, nb, cols, v)
		gram, work := work[:reflectorPanel*reflectorPanel], work[reflectorPanel*reflectorPanel:]
		c.Gemm(blas.NoTrans, blas.Trans, nb, nb, cols, 1, v, cols, v, cols, 0, gram, reflectorPanel, work)
		c.factorOfBlock(nb, gram, tau[first:first+nb], f)
	})
	parts, height := rowParts(rows, reflectorRows)
	c.crew(parts, 2*reflectorPanel*reflectorRows+c.Work(max(reflectorRows, order)), func(part, _ int, work []T) {
		i := part * height
		m := min(height, rows-i)
		y, work := work[:reflectorPanel*m], work[reflectorPanel*m:]
		z, work := work[:reflectorPanel*m], work[reflectorPanel*m:]
		for b := blocks - 1; b >= 0 && !c.stopped(); b-- {
			first, nb, cols, v, f := blockAt(b)
			if identity && first+offset >= i+m {
				continue // these rows have zeros where the reflectors have elements
			}
			c.applyBlock(m, nb, cols, v, f, reflectorPanel, x[i*ldx+first+offset:], ldx, y, z, reflectorPanel, work)
		}
	})
}

// applyAlone is applyReflectors by one reflector after the other, for vectors of a few elements.
func (c *condensed[T]) applyAlone(rows, order, k int, in vectorsIn[T], tau, x []T, ldx int, work []T) {
	for i := k - 1; i >= 0; i-- {
		if tau[i] == 0 {
			continue
		}
		first := i + in.offset
		v := work[:order-first]
		in.copy(i, 1, len(v), v)
		for r := range rows {
			row, s := x[r*ldx+first:][:len(v)], T(0)
			for j, y := range v {
				s += y * row[j]
			}
			s *= tau[i]
			for j, y := range v {
				row[j] -= s * y
			}
		}
	}
}

// applyPairs is applyReflectors by two reflectors at a time, for a matrix in the first-level cache. With y = X·v and
// z = X·w,
//
//	X·(I − τ·v·vᵀ)·(I − σ·w·wᵀ) = X − τ·y·vᵀ − σ·(z − τ·(vᵀ·w)·y)·wᵀ.
//
// The bits of a row do not depend on how many rows there are.
func (c *condensed[T]) applyPairs(rows, order, k int, in vectorsIn[T], tau, x []T, ldx int, work []T) {
	if rows < pairRows {
		more := work[:pairRows*order]
		clear(more[rows*order:])
		for r := range rows {
			copy(more[r*order:][:order], x[r*ldx:])
		}
		c.applyPairs(pairRows, order, k, in, tau, more, order, work[len(more):])
		for r := range rows {
			copy(x[r*ldx:][:order], more[r*order:])
		}
		return
	}
	y, z, work := work[:rows], work[rows:2*rows], work[2*rows:]
	for i := k; i > 0; i -= 2 {
		nb := min(i, 2)
		first := i - nb
		cols := order - first - in.offset
		in.copy(first, nb, cols, work)
		w, v, sigma := work[:cols], work[cols:2*cols], tau[first]
		if nb == 1 { // the last one of an odd number
			clear(v)
		}
		part := x[first+in.offset:]
		c.mulVec(rows, cols, part, ldx, w, z)
		if nb == 2 {
			c.mulVec(rows, cols, part, ldx, v, y)
			scalWith(&c.vectors, tau[i-1], y)
			axpyWith(&c.vectors, -dotWith(&c.vectors, v, w), y, z)
		} else {
			clear(y)
		}
		scalWith(&c.vectors, sigma, z)
		c.ger2(rows, cols, part, ldx, y, v, z, w)
	}
}

// vectorsIn is where a reduction has left the vectors of its reflectors. Vector i is zero before element i+offset, which
// is 1 and is not stored. The elements after that lie in row i of a, or in column i.
type vectorsIn[T Element] struct {
	a       []T
	lda     int
	offset  int
	columns bool
}

// copy copies vectors first to first+nb−1 to v, as rows of cols elements, without the elements in which all of them are
// zero.
func (in *vectorsIn[T]) copy(first, nb, cols int, v []T) {
	a := in.a[first*in.lda+first:]
	if in.columns {
		for j := range cols {
			row := a[(in.offset+j)*in.lda:][:nb]
			for i := range min(nb, j) {
				v[i*cols+j] = row[i]
			}
			if j < nb {
				v[j*cols+j] = 1
				for i := j + 1; i < nb; i++ {
					v[i*cols+j] = 0
				}
			}
		}
		return
	}
	for i := range nb {
		row := v[i*cols:][:cols]
		clear(row[:i])
		row[i] = 1
		copy(row[i+1:], a[i*in.lda+i+in.offset+1:][:cols-i-1])
	}
}
