//go:build !noasm

package avx512

import (
	"github.com/tessera-la/tessera/kernels/cpu/avx2"
	"github.com/tessera-la/tessera/kernels/cpu/isa"
)

// fill sets the kernels of t, if this build has them.
func fill(t *isa.Table) {
	// The kernels that memory bounds are AVX2's, but for those that have wider twins here: every processor with AVX-512F
	// has AVX2 and FMA3.
	narrower := avx2.Table()
	t.F64 = isa.Kernels[float64]{
		Lanes: 8, Rows: 8,
		Gemm: gemmF64, PackRows: packRows, PackTransposed: packTransposedF64,
		Solve: solveF64, Factor: factorF64, Transpose: transposeF64, PackTriangle: packTriangleF64,
		LUUpdate: luUpdateF64, LUScale: luScaleF64, LUTurn: 1, LUTall: luTall,
		Exchange: exchange,
		QRDots:   qrDotsF64, QRReflect: qrReflectF64, QRScale: qrScaleF64, QRSubtract: qrSubtractF64, QRCopy: qrCopyF64,
		LaneUpdate: laneUpdateF64, LaneScale: laneScaleF64, LanePivot: lanePivotF64, LaneEliminate: laneEliminateF64,
		Secular: isa.Secular[float64]{
			Sums: secularSumsF64, Factors: secularFactorsF64,
			FactorsOfSquares: secularFactorsOfSquaresF64, Quotients: secularQuotientsF64,
		},
		FMA: fmaF64, FMAFlops: 32 * 8 * 2, // 16 sums, twice
		Vectors: narrower.F64.Vectors,
	}
	v64 := &t.F64.Vectors
	v64.Symv, v64.MulVec = symvF64, mulvecF64
	v64.SymvUpper, v64.SymvLower = symvUpperF64, symvLowerF64
	v64.StripColumns, v64.StripRows, v64.StripUpdate, v64.Strip = stripColumnsF64, stripRowsF64, stripUpdateF64, 64
	v64.Larf, v64.Lasr, v64.Ger, v64.Ger2 = larfF64, lasrF64, gerF64, ger2F64
	v64.Dot, v64.Axpy, v64.Scal, v64.Rot, v64.Reflect = dotF64, axpyF64, scalF64, rotF64, reflectF64
	v64.Asum, v64.Amax, v64.SumSquares = asumF64, amaxF64, sumSquaresF64
	t.F32 = isa.Kernels[float32]{
		Lanes: 16, Rows: 8,
		Gemm: gemmF32, PackRows: packRows, PackTransposed: packTransposedF32,
		Solve: solveF32, Factor: factorF32, Transpose: transposeF32, PackTriangle: packTriangleF32,
		LUUpdate: luUpdateF32, LUScale: luScaleF32, LUTurn: 1, LUTall: luTall,
		Exchange: exchange,
		QRDots:   qrDotsF32, QRReflect: qrReflectF32, QRScale: qrScaleF32, QRSubtract: qrSubtractF32, QRCopy: qrCopyF32,
		LaneUpdate: laneUpdateF32, LaneScale: laneScaleF32, LanePivot: lanePivotF32, LaneEliminate: laneEliminateF32,
		Secular: isa.Secular[float32]{
			Sums: secularSumsF32, Factors: secularFactorsF32,
			FactorsOfSquares: secularFactorsOfSquaresF32, Quotients: secularQuotientsF32,
		},
		FMA: fmaF32, FMAFlops: 32 * 16 * 2, // 16 sums, twice
		Vectors: narrower.F32.Vectors,
	}
	v32 := &t.F32.Vectors
	v32.Symv, v32.MulVec = symvF32, mulvecF32
	v32.SymvUpper, v32.SymvLower = symvUpperF32, symvLowerF32
	v32.StripColumns, v32.StripRows, v32.StripUpdate, v32.Strip = stripColumnsF32, stripRowsF32, stripUpdateF32, 128
	v32.Larf, v32.Lasr, v32.Ger, v32.Ger2 = larfF32, lasrF32, gerF32, ger2F32
	v32.Dot, v32.Axpy, v32.Scal, v32.Rot, v32.Reflect = dotF32, axpyF32, scalF32, rotF32, reflectF32
	v32.Asum, v32.Amax, v32.SumSquares = asumF32, amaxF32, sumSquaresF32
}

// luTall is the least number of rows of a panel for several cores. Below it the
// other cores are better kept on the updates of the panel before: on two cores of
// a Xeon (model 167) whole factorizations of 4096×128 and 8192×256 took 1.2 to
// 1.3 times as long, of 16384×256 0.9 times, of 32768×512 and 65536×512 in tiles
// of 256 0.65 to 0.74 times (labench lu --versions avx512 --nb, best of 5 to 9).
const luTall = 16384
