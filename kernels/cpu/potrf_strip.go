package cpu

import (
	"github.com/tessera-la/tessera/kernels/cpu/isa"
	"gonum.org/v1/gonum/blas"
)

// potrf is potrfLeaf by column strips of U, from left to right. The rows of a
// strip above its diagonal block are solved for with the strips before it,
// then the diagonal block is factored, mr rows at a time:
//
//	┌──┬──┬──┐  Each strip stays in scratch as an operand for those to come;
//	│U0│  │  │  what is to the right of it is not touched before its turn.
//	└──┤U1│X │
//	   └──┤  │
//	      └──┘
//
// A lower triangle is transposed into the strips and back.
func (l *leaves[T]) potrf(uplo blas.Uplo, n int, a []T, lda int, work []T) (info int) {
	mr, nr, lanes, size := l.mr, l.nr, l.lanes, l.size()
	checkWork(len(work), l.work(n))
	rows := roundUp(n, mr)
	inv, strips := work[:rows], work[roundUp(rows, 16):]
	x := strips
	for c := 0; c < n; c += nr {
		w := min(nr, n-c)
		wr := roundUp(w, mr)

		t := isa.Leaf{X: at(x, 0), RS: size, CS: nr * size, PS: mr * size}
		l.shape(&t, w, uplo == blas.Lower)
		t.LDC = lda * size
		if uplo == blas.Lower && c > 0 {
			l.gather(x, 0, 1, a[c*lda:], lda, w, c)
			t.LDC = nr * size
		}
		left := strips
		for k := 0; k < c; k += nr {
			t.A, t.Inv, t.K, t.Panels = at(left, 0), at(inv, k), k, nr/mr
			if uplo == blas.Lower {
				t.C = at(x, k*nr)
			} else {
				t.C = at(a, k*lda+c)
			}
			l.Solve(isa.Hide(&t))
			left = left[(k+nr)*nr:]
		}
		if uplo == blas.Lower && c > 0 {
			l.scatter(a[c*lda:], lda, x, 0, 1, w, c)
		}

		block := x[c*nr : (c+wr)*nr]
		copied := uplo == blas.Lower || w < wr
		if copied {
			l.diagonalIn(uplo, block, a[c*lda+c:], lda, w, wr)
		}
		for i := 0; i < wr; i += mr {
			j := i / lanes * lanes
			t := isa.Leaf{X: at(x, j), Inv: at(inv, c+i), K: c + i, Lane: i - j}
			t.Width = (w - j + lanes - 1) / lanes
			if copied {
				t.C, t.LDC, t.Last = at(block, i*nr+j), nr*size, lanes
			} else {
				t.C, t.LDC, t.Last = at(a, (c+i)*lda+c+j), lda*size, w-j-(t.Width-1)*lanes
			}
			l.Factor(isa.Hide(&t))
			for r := i; r < i+mr; r++ {
				// Written so that a NaN fails too.
				if !(block[r*nr+r] > 0) {
					return c + r + 1
				}
			}
		}
		if copied {
			l.diagonalOut(uplo, a[c*lda+c:], lda, block, w)
		}
		x = x[(c+wr)*nr:]
	}
	return 0
}

// diagonalIn copies the triangle of order w at a into the wr rows of an upper
// one, with zeros below and completed with ones on the diagonal.
func (l *leaves[T]) diagonalIn(uplo blas.Uplo, x, a []T, lda, w, wr int) {
	clear(x)
	nr := l.nr
	for i := range w {
		if uplo == blas.Upper {
			copy(x[i*nr+i:i*nr+w], a[i*lda+i:i*lda+w])
			continue
		}
		// What is left of the square on the diagonal goes by squares.
		left := i / l.lanes * l.lanes
		if i == left && left > 0 {
			l.gather(x[left:], 0, 1, a[left*lda:], lda, min(l.lanes, w-left), left)
		}
		for j, v := range a[i*lda+left : i*lda+i+1] {
			x[(left+j)*nr+i] = v
		}
	}
	for i := w; i < wr; i++ {
		x[i*nr+i] = 1
	}
}

// diagonalOut copies an upper triangle back.
func (l *leaves[T]) diagonalOut(uplo blas.Uplo, a []T, lda int, x []T, w int) {
	nr := l.nr
	for i := range w {
		if uplo == blas.Upper {
			copy(a[i*lda+i:i*lda+w], x[i*nr+i:i*nr+w])
			continue
		}
		left := i / l.lanes * l.lanes
		if i == left && left > 0 {
			l.scatter(a[left*lda:], lda, x[left:], 0, 1, min(l.lanes, w-left), left)
		}
		row := a[i*lda+left : i*lda+i+1]
		for j := range row {
			row[j] = x[(left+j)*nr+i]
		}
	}
}
