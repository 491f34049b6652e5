//go:build !noasm

package avx2

func fmaF64(n int)

func fmaF32(n int)

//go:noescape
func triadF64(dst, x, y *float64, s float64, n int)
