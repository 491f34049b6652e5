package submit

import (
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
)

// Trsm submits the tasks of Trsm for one part of B; the rest of B is zero and stays zero.
// part is blas.All, or, if B is the identity and A stands to the left, the triangle of
// op(A).
func (p *Tasks[T]) Trsm(side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, alpha T, a, b *tiles.Matrix[T], part blas.Uplo) {
	oa, ob, nt := p.Reads(a), p.Operand(b), a.NT()
	trsm := &op.Trsm[T]{Side: side, Uplo: uplo, Trans: trans, Diag: diag, Alpha: alpha}
	gemm := &op.Gemm[T]{TransA: trans, TransB: blas.NoTrans, Alpha: -1, Beta: alpha}
	lines := b.NT() // tiles in a block of B
	if side == blas.Right {
		gemm.TransA, gemm.TransB = blas.NoTrans, trans
		lines = b.MT()
	}
	// op(A) is lower triangular if A is lower and not transposed, or upper and
	// transposed. Then row block 0 is solved first if A stands to the left, and
	// column block nt-1 if A stands to the right.
	lower := (uplo == blas.Lower) == (trans == blas.NoTrans)
	forward := lower == (side == blas.Left)
	for step := 0; step < nt && p.Err == nil; step++ {
		k, next, lo, hi := step, 1, 0, lines
		if !forward {
			k, next = nt-1-step, -1
		}
		priority := int64(nt - step)
		switch part { // later algorithms wait for the triangle, so it comes first
		case blas.Lower:
			hi, priority = k+1, priority+int64(nt)
		case blas.Upper:
			lo, priority = k, priority+int64(nt)
		}
		for line := lo; line < hi; line++ {
			p.Submit(p.Ops.Trsm, trsm, priority, In(oa.Tile(k, k)), InOut(ob.Block(side, k, line)))
		}
		// Take block k out of the blocks still to be solved.
		for rest := 1; rest < nt-step; rest++ {
			i := k + rest*next
			for line := lo; line < hi; line++ {
				left, right := Beside(side, oa, trans, i, k, ob.Block(side, k, line))
				p.Submit(p.Ops.Gemm, gemm, priority-int64(rest), left, right, InOut(ob.Block(side, i, line)))
			}
		}
		if step == 0 { // alpha has been applied to all blocks
			solved, updated := *trsm, *gemm
			solved.Alpha, updated.Beta = 1, 1
			trsm, gemm = &solved, &updated
		}
	}
}

// Syrk submits the tasks of Syrk. If A is lower triangular, it leaves out the zero tiles
// of A.
func (p *Tasks[T]) Syrk(trans blas.Transpose, alpha T, a *tiles.Matrix[T], beta T, c *tiles.Matrix[T]) {
	other := blas.Transpose(blas.Trans)
	if trans != blas.NoTrans {
		other = blas.NoTrans
	}
	syrk := [2]op.Syrk[T]{{Uplo: c.Kind().Uplo(), Trans: trans, Alpha: alpha, Beta: beta}}
	gemm := [2]op.Gemm[T]{{TransA: trans, TransB: other, Alpha: alpha, Beta: beta}}
	syrk[1], gemm[1] = syrk[0], gemm[0] // 0 is for the first task on each tile, 1 for later ones
	syrk[1].Beta, gemm[1].Beta = 1, 1
	oa, oc := p.Reads(a), p.Operand(c)
	_, k := Dims(a, trans)
	for i, j := range c.StoredTiles() {
		if p.Err != nil {
			break // there may be billions of tasks
		}
		lo := 0
		if a.Kind() == tiles.TriLower {
			lo = max(i, j)
		}
		for l := lo; l < tiles.Count(k, c.NB()); l++ {
			left, right, out := In(At(oa, trans, i, l)), In(At(oa, trans, j, l)), InOut(oc.Tile(i, j))
			if later := min(l-lo, 1); i == j {
				p.Submit(p.Ops.Syrk, &syrk[later], int64(l), left, out)
			} else {
				p.Submit(p.Ops.Gemm, &gemm[later], int64(l), left, right, out)
			}
		}
	}
}

// Dims returns the shape of op(a).
func Dims[T tiles.Element](a *tiles.Matrix[T], trans blas.Transpose) (r, c int) {
	if trans == blas.NoTrans {
		return a.Rows(), a.Cols()
	}
	return a.Cols(), a.Rows()
}

// At returns the tile that holds block (i, j) of op(a).
func At[T tiles.Element](a *Operand[T], trans blas.Transpose, i, j int) *graph.Datum {
	if trans == blas.NoTrans {
		return a.Tile(i, j)
	}
	return a.Tile(j, i)
}

// Beside returns the operands of a product with a triangular matrix: op(A)(i, k)·X
// from the left, X·op(A)(k, i) from the right.
func Beside[T tiles.Element](side blas.Side, a *Operand[T], trans blas.Transpose, i, k int, x *graph.Datum) (left, right graph.Operand) {
	if side == blas.Left {
		return In(At(a, trans, i, k)), In(x)
	}
	return In(x), In(At(a, trans, k, i))
}

// Block returns the tile of block i in one line of tiles: a block is a row of tiles
// for what stands to the left, a column for what stands to the right.
func (o *Operand[T]) Block(side blas.Side, i, line int) *graph.Datum {
	if side == blas.Left {
		return o.Tile(i, line)
	}
	return o.Tile(line, i)
}
