// Package kerneltest holds one conformance suite per op, to be run on every
// version of it, those of users included:
//
//	func TestMine(t *testing.T) {
//		gemm := kernels.For[float64](op.NewTable()).Op("gemm")
//		kerneltest.Version(t, gemm, &mine)
//	}
//
// The suite of an op is the method of suite with its name: Gemm for op "gemm".
//
// Results are judged by the scaled residuals of LAPACK's and PLASMA's tests
// against a naive reference that accumulates in twice the precision of
// float64, never by equality with another program. Padding and every part of
// an operand that the op does not use are filled with NaN, which must not
// leak, or with a number, which must not be overwritten; scratch is full of
// NaN. So are operands that an Alpha or Beta of 0 keeps from being read: 0·NaN must not
// come of it. Tiles may be empty and then have no Data: see [kernels.Tile].
//
// A failure names the call: op, parameters, and shapes and strides of the operands. A version
// that panics has failed.
package kerneltest
