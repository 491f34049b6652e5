package cpu

import (
	"github.com/tessera-la/tessera/internal/scalar"
	"gonum.org/v1/gonum/blas"
)

// Shared is the level-3 routines of a [Packed] by several cores. Every element is
// computed by the same operations in the same order as by one core, so the results
// are the same, bit for bit, whichever core does which part. What is packed for all is
// packed once.
type Shared[T Element] struct {
	*Packed[T]
	units int
	crew  Crew[T]
}

// Shared returns the routines of p by a crew of at most so many cores, for calls
// one after the other.
func (p *Packed[T]) Shared(units int, crew Crew[T]) *Shared[T] {
	return &Shared[T]{Packed: p, units: units, crew: crew}
}

// pieces is how many parts a core should find: one that comes late still gets a part,
// and one that is slow holds up the others for the time of a part.
const pieces = 2

// Gemm implements [Routines].
func (s *Shared[T]) Gemm(transA, transB blas.Transpose, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int, work []T) {
	p := s.Packed
	const least = 96 * 96 * 96 // products of which half are worth giving away
	if float64(m)*float64(n)*float64(k) < least || min(m, n, k) < narrowStrip {
		p.Gemm(transA, transB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, work)
		return
	}
	if p.vectors.set() && p.isLarge(m, n, k) {
		if !gemmTrivial(transA, transB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc) {
			s.large(operand[T]{a, lda, transA != blas.NoTrans, nil}, operand[T]{b, ldb, transB != blas.NoTrans, nil}, m, n, k, alpha, beta, c, ldc, work)
		}
		return
	}
	dim := max(m, n, k)
	if m >= n {
		s.strips(m, p.MR, p.Work(dim), func(lo, hi int, work []T) {
			p.Gemm(transA, transB, hi-lo, n, k, alpha, fromRow(a, lda, transA, lo), lda, b, ldb, beta, c[lo*ldc:], ldc, work)
		})
		return
	}
	s.strips(n, p.NR, p.Work(dim), func(lo, hi int, work []T) {
		p.Gemm(transA, transB, m, hi-lo, k, alpha, a, lda, fromRow(b, ldb, scalar.Flip[T](transB), lo), ldb, beta, c[lo:], ldc, work)
	})
}

// GemmPacked is [Packed.GemmPacked].
func (s *Shared[T]) GemmPacked(transA, transB blas.Transpose, m, n, k int, alpha T, a []T, lda int, ap []T, b []T, ldb int, bp []T, beta T, c []T, ldc int, work []T) {
	if gemmTrivial(transA, transB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc) {
		return
	}
	s.large(operand[T]{a, lda, transA != blas.NoTrans, ap}, operand[T]{b, ldb, transB != blas.NoTrans, bp}, m, n, k, alpha, beta, c, ldc, work)
}

// narrowStrip is the least extent of a strip: a narrower one might be computed in
// another way ([Packed.small]).
const narrowStrip = 16

// strips cuts n into strips of a multiple of unit, the last one of what is left.
func (s *Shared[T]) strips(n, unit, work int, f func(lo, hi int, work []T)) {
	size := roundUp(max((n+pieces*s.units-1)/(pieces*s.units), narrowStrip), unit)
	count := max(1, n/size)
	s.crew(count, work, func(i, _ int, work []T) {
		lo, hi := i*size, (i+1)*size
		if i == count-1 {
			hi = n
		}
		f(lo, hi, work)
	})
}

// fromRow returns op(X) from row i on.
func fromRow[T Element](x []T, ld int, trans blas.Transpose, i int) []T {
	if trans != blas.NoTrans {
		return x[i:]
	}
	return x[i*ld:]
}

// large is [Packed.large]: B is packed by all, once, and then all take blocks of
// rows of C, each with a block of A of its own.
func (s *Shared[T]) large(a, b operand[T], m, n, k int, alpha, beta T, c []T, ldc int, work []T) {
	p := s.Packed
	checkWork(len(work), p.blockB(n, k))
	bp := work[:p.blockB(n, k)]
	mcMax, kcMax, ncMax := part(m, p.MC, p.MR), part(k, p.KC, 1), part(n, p.NC, p.NR)
	packA := p.packsA(a, m)
	rows := (m + mcMax - 1) / mcMax
	for jc := 0; jc < n; jc += ncMax {
		nc := min(ncMax, n-jc)
		// Blocks of few rows are cut again, between strips of B.
		width, groups := s.groups(nc, max(1, min((pieces*s.units+rows-1)/rows, nc/(8*p.NR))))
		beta := beta
		for pc := 0; pc < k; pc += kcMax {
			kc := min(kcMax, k-pc)
			if b.packed != nil {
				bp = p.packedB(b, n, k, pc)
			} else {
				s.packB(bp, b, pc, jc, nc, kc)
			}
			s.crew(rows*groups, p.blockA(m, k), func(i, _ int, ap []T) {
				ic, lo := i/groups*mcMax, i%groups*width
				hi := lo + width
				if i%groups == groups-1 {
					hi = nc
				}
				t := strip[T]{m: min(mcMax, m-ic), k: kc, alpha: alpha, beta: beta, padded: true, ldc: ldc, uplo: blas.All}
				p.operandA(&t, a, m, k, ic, pc, packA, ap)
				p.blockStrips(t, blas.All, 0, bp, nc, lo, hi, c[ic*ldc+jc:])
			})
			beta = 1
		}
	}
}

// packB is packAllB of the kc×nc block of b at (pc, jc) by all.
func (s *Shared[T]) packB(bp []T, b operand[T], pc, jc, nc, kc int) {
	const worth = 1 << 14 // elements: some ten microseconds
	p := s.Packed
	x, rs, cs := b.from(pc, jc)
	parts := min(pieces*s.units, nc*kc/worth)
	switch {
	case parts < 2:
		p.packAllB(bp, x, rs, cs, nc, kc)
	case !p.byStrips(cs):
		s.strips(kc, packRows, 0, func(lo, hi int, _ []T) {
			for l := lo; l < hi; l += packRows {
				p.packSlab(bp, x, rs, nc, kc, l, min(packRows, hi-l))
			}
		})
	default:
		width, groups := s.groups(nc, parts)
		s.crew(groups, 0, func(i, _ int, _ []T) {
			lo, hi := i*width, (i+1)*width
			if i == groups-1 {
				hi = nc
			}
			p.packStrips(bp[lo*kc:], x[lo*cs:], rs, cs, hi-lo, kc)
		})
	}
}

// groups cuts n columns into at most so many groups of strips as [Packed.width]
// makes them: all but the last are of width columns.
func (s *Shared[T]) groups(n, most int) (width, groups int) {
	width = roundUp((n+most-1)/most, 2*s.NR) // two are packed at a time
	// Whole strips end where more than a vector is left.
	return width, max(1, (n-s.vectors.lanes-1)/width+1)
}

// Syrk implements [Routines]. It halves C as [Packed.Syrk] does.
func (s *Shared[T]) Syrk(uplo blas.Uplo, trans blas.Transpose, n, k int, alpha T, a []T, lda int, beta T, c []T, ldc int, work []T) {
	p := s.Packed
	const least, wide = 128, 1024
	if n < least || k == 0 || alpha == 0 || float64(n)*float64(n)*float64(k) < least*least*least {
		p.Syrk(uplo, trans, n, k, alpha, a, lda, beta, c, ldc, work)
		return
	}
	h := roundUp(n/2, p.NR)
	rest, cut := fromRow(a, lda, trans, h), scalar.Flip[T](trans)
	if n >= wide {
		s.Syrk(uplo, trans, h, k, alpha, a, lda, beta, c, ldc, work)
		s.Syrk(uplo, trans, n-h, k, alpha, rest, lda, beta, c[h*ldc+h:], ldc, work)
		if uplo == blas.Lower {
			s.Gemm(trans, cut, n-h, h, k, alpha, rest, lda, a, lda, beta, c[h*ldc:], ldc, work)
		} else {
			s.Gemm(trans, cut, h, n-h, k, alpha, a, lda, rest, lda, beta, c[h:], ldc, work)
		}
		return
	}
	// The square in halves, which are as much work as the triangles are.
	s.crew(4, p.Work(max(n, k)), func(i, _ int, work []T) {
		switch i {
		case 0, 1:
			left, right, x, r := a, rest, c[h:], h
			if uplo == blas.Lower {
				left, right, x, r = rest, a, c[h*ldc:], n-h
			}
			lo, hi := 0, roundUp(r/2, p.MR)
			if i == 1 {
				lo, hi = hi, r
			}
			p.Gemm(trans, cut, hi-lo, n-r, k, alpha, fromRow(left, lda, trans, lo), lda, right, lda, beta, x[lo*ldc:], ldc, work)
		case 2:
			p.Syrk(uplo, trans, h, k, alpha, a, lda, beta, c, ldc, work)
		case 3:
			p.Syrk(uplo, trans, n-h, k, alpha, rest, lda, beta, c[h*ldc+h:], ldc, work)
		}
	})
}

// Trsm implements [Routines].
func (s *Shared[T]) Trsm(side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, m, n int, alpha T, a []T, lda int, b []T, ldb int, work []T) {
	if trsmTrivial(side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb) {
		return
	}
	trsmSplit[T](s, s.Leaf, side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb, work)
}

// trsmLeaf implements trsmParts by strips of right-hand sides.
func (s *Shared[T]) trsmLeaf(t triangular[T], n int, a, b []T) {
	p := s.Packed
	// Each part packs the triangle anew: it must be worth it.
	parts := min(pieces*s.units, t.rhs/max(n/2, 4*p.NR))
	if parts < 2 || float64(n)*float64(n)*float64(t.rhs) < 96*96*96 {
		p.trsmLeaf(t, n, a, b)
		return
	}
	size := roundUp((t.rhs+parts-1)/parts, p.NR)
	step := 1
	if !t.left() {
		step = t.ldb
	}
	rhs := t.rhs
	s.crew((rhs+size-1)/size, p.Work(n), func(i, _ int, work []T) {
		t := t
		t.work, t.rhs = work, min(size, rhs-i*size)
		p.trsmLeaf(t, n, a, b[i*size*step:])
	})
}

// Potrf implements [Routines].
func (s *Shared[T]) Potrf(uplo blas.Uplo, n int, a []T, lda int, work []T) (info int) {
	checkUplo(uplo)
	checkMatrix(n, n, len(a), lda)
	if n == 0 {
		return 0
	}
	return potrfSplit[T](s, s.Leaf, uplo, n, a, lda, work)
}
