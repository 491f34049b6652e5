package submit

import (
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
)

// Trsm submits the solution of op(A)·X = alpha·B, or of X·op(A) = alpha·B if side is blas.Right, for a
// triangular A. X overwrites B. If B is the identity and A stands to the left, X is triangular as op(A) is,
// and part may be that triangle: its other half is zero and stays so. Otherwise part is blas.All.
func (p *Tasks[T]) Trsm(side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, alpha T, a, b *tiles.Matrix[T], part blas.Uplo) {
	oa, ob, nt := p.Reads(a), p.Operand(b), a.NT()
	trsm := &op.Trsm[T]{Side: side, Uplo: uplo, Trans: trans, Diag: diag, Alpha: alpha}
	gemm := &op.Gemm[T]{TransA: trans, TransB: blas.NoTrans, Alpha: -1, Beta: alpha}
	lines := b.NT() // tiles in a block: see Block
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
			p.Submit(p.Op("trsm"), trsm, priority, In(oa.Tile(k, k)), InOut(ob.Block(side, k, line)))
		}
		// Subtract the product with block k from the blocks that are not solved yet.
		for rest := 1; rest < nt-step; rest++ {
			i := k + rest*next
			for line := lo; line < hi; line++ {
				left, right := Beside(side, oa, trans, i, k, ob.Block(side, k, line))
				p.Submit(p.Op("gemm"), gemm, priority-int64(rest), left, right, InOut(ob.Block(side, i, line)))
			}
		}
		if step == 0 { // alpha has been applied to all blocks
			solved, updated := *trsm, *gemm
			solved.Alpha, updated.Beta = 1, 1
			trsm, gemm = &solved, &updated
		}
	}
}

// Syrk submits C = alpha·op(A)·op(A)ᵀ + beta·C for the half that C stores, where op(A) is A, or Aᵀ if trans is
// blas.Trans. If A is lower triangular, trans must be blas.Trans, and products with zero tiles are left out.
func (p *Tasks[T]) Syrk(trans blas.Transpose, alpha T, a *tiles.Matrix[T], beta T, c *tiles.Matrix[T]) {
	transB := blas.Transpose(blas.Trans)
	if trans != blas.NoTrans {
		transB = blas.NoTrans
	}
	// Parameters of the first task on each tile, which applies beta, and of the later ones, which add.
	syrk := [2]op.Syrk[T]{{Uplo: c.Kind().Uplo(), Trans: trans, Alpha: alpha, Beta: beta}}
	gemm := [2]op.Gemm[T]{{TransA: trans, TransB: transB, Alpha: alpha, Beta: beta}}
	syrk[1], gemm[1] = syrk[0], gemm[0]
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
				p.Submit(p.Op("syrk"), &syrk[later], int64(l), left, out)
			} else {
				p.Submit(p.Op("gemm"), &gemm[later], int64(l), left, right, out)
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

// Beside returns the factors of a tile product in their order: block (i, k) of op(A) and X if A stands to the
// left, X and block (k, i) of op(A) if it stands to the right.
func Beside[T tiles.Element](side blas.Side, a *Operand[T], trans blas.Transpose, i, k int, x *graph.Datum) (left, right graph.Operand) {
	if side == blas.Left {
		return In(At(a, trans, i, k)), In(x)
	}
	return In(x), In(At(a, trans, k, i))
}

// Block returns a tile of block i of o, a row of tiles if side is blas.Left and a column of tiles if it is
// blas.Right: the tile in column line of that row, or in row line of that column.
func (o *Operand[T]) Block(side blas.Side, i, line int) *graph.Datum {
	if side == blas.Left {
		return o.Tile(i, line)
	}
	return o.Tile(line, i)
}
