//go:build !noasm

package avx2

import "github.com/tessera-la/tessera/kernels/cpu/isa"

// fill sets the kernels of t, if this build has them.
func fill(t *isa.Table) {
	t.F64 = isa.Kernels[float64]{
		Lanes: 4, Rows: 4,
		Gemm: gemmF64, PackRows: packRows, PackTransposed: packTransposedF64,
		PackStrips: packStrips, PackPanels: packPanelsF64,
		Solve: solveF64, Factor: factorF64, Transpose: transposeF64, PackTriangle: packTriangleF64,
		LUUpdate: luUpdateF64, LUScale: luScaleF64, LUTurn: 2, LUTall: luTall,
		Exchange: exchange,
		QRDots:   qrDotsF64, QRReflect: qrReflectF64, QRScale: qrScaleF64, QRSubtract: qrSubtractF64, QRCopy: qrCopyF64,
		LaneUpdate: laneUpdateF64, LaneScale: laneScaleF64, LanePivot: lanePivotF64, LaneEliminate: laneEliminateF64,
		Secular: isa.Secular[float64]{
			Sums: secularSumsF64, Factors: secularFactorsF64,
			FactorsOfSquares: secularFactorsOfSquaresF64, Quotients: secularQuotientsF64,
		},
		FMA: fmaF64, FMAFlops: 24 * 4 * 2, // 12 sums, twice
		Vectors: isa.Vectors[float64]{
			Set:  t.Name,
			Dots: dotsF64, Axpys: axpysF64, Symv: symvF64, MulVec: mulvecF64,
			StripColumns: stripColumnsF64, StripRows: stripRowsF64, StripUpdate: stripUpdateF64, Strip: 32, Larf: larfF64, Lasr: lasrF64, Ger: gerF64, Ger2: ger2F64,
			Dot: dotF64, Axpy: axpyF64, Scal: scalF64, Rot: rotF64, Reflect: reflectF64,
			Asum: asumF64, Amax: amaxF64, SumSquares: sumSquaresF64,
			AbsSums: absSumsF64, TopBits: topBitsF64,
			CopyRows: copyRows, SpMV: spmvF64, Triad: triadF64,
		},
	}
	t.F32 = isa.Kernels[float32]{
		Lanes: 8, Rows: 4,
		Gemm: gemmF32, PackRows: packRows, PackTransposed: packTransposedF32,
		PackStrips: packStrips, PackPanels: packPanelsF32,
		Solve: solveF32, Factor: factorF32, Transpose: transposeF32, PackTriangle: packTriangleF32,
		LUUpdate: luUpdateF32, LUScale: luScaleF32, LUTurn: 2, LUTall: luTall,
		Exchange: exchange,
		QRDots:   qrDotsF32, QRReflect: qrReflectF32, QRScale: qrScaleF32, QRSubtract: qrSubtractF32, QRCopy: qrCopyF32,
		LaneUpdate: laneUpdateF32, LaneScale: laneScaleF32, LanePivot: lanePivotF32, LaneEliminate: laneEliminateF32,
		Secular: isa.Secular[float32]{
			Sums: secularSumsF32, Factors: secularFactorsF32,
			FactorsOfSquares: secularFactorsOfSquaresF32, Quotients: secularQuotientsF32,
		},
		FMA: fmaF32, FMAFlops: 24 * 8 * 2, // 12 sums, twice
		Vectors: isa.Vectors[float32]{
			Set:  t.Name,
			Dots: dotsF32, Axpys: axpysF32, Symv: symvF32, MulVec: mulvecF32,
			StripColumns: stripColumnsF32, StripRows: stripRowsF32, StripUpdate: stripUpdateF32, Strip: 64, Larf: larfF32, Lasr: lasrF32, Ger: gerF32, Ger2: ger2F32,
			Dot: dotF32, Axpy: axpyF32, Scal: scalF32, Rot: rotF32, Reflect: reflectF32,
			Asum: asumF32, Amax: amaxF32, SumSquares: sumSquaresF32,
			AbsSums: absSumsF32, TopBits: topBitsF32,
			CopyRows: copyRows,
		},
	}
}

// luTall is the least number of rows of a panel for several cores: on two cores of
// a Zen 3, with 512 KiB of second-level cache, 16384×256 took 1.2 to 1.4 times as
// long with shared panels, 32768×256 0.8 times and 32768×512 0.7 to 1.04 times
// (best of 4 to 12, 2026-11-22).
const luTall = 24576
