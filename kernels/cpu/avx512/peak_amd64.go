//go:build !noasm

package avx512

func fmaF64(n int)

func fmaF32(n int)
