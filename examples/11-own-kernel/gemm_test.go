package main

import (
	"testing"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/kerneltest"
	"github.com/tessera-la/tessera/kernels/op"
)

// TestGemm runs the suite of gemm: all factors and transpositions, empty and ragged tiles,
// strides, padding full of NaN.
func TestGemm(t *testing.T) {
	mine := version()
	kerneltest.Version(t, kernels.For[float64](op.NewTable()).Op("gemm"), &mine)
}
