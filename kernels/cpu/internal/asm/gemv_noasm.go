//go:build !amd64 || noasm

package asm

// HasAVX2 reports whether this build has the functions for AVX2.
func HasAVX2() bool { return false }

// HasAVX512 reports whether this build has the functions for AVX512.
func HasAVX512() bool { return false }

// DotsF64 computes the inner products of four rows of n elements, lda apart,
// with x, by AVX2 and FMA3: s[i] = Σ a[i*lda+l]·x[l]. n is a positive multiple
// of 8.
func DotsF64(a *float64, lda, n int, x *float64, s *[4]float64) { panic("asm: no AVX2 in this build") }

// DotsF32 is DotsF64 for float32; n is a positive multiple of 16.
func DotsF32(a *float32, lda, n int, x *float32, s *[4]float32) { panic("asm: no AVX2 in this build") }

// AxpysF64 adds multiples of four rows of n elements, lda apart, to y, by AVX2
// and FMA3: y[l] += Σ s[i]·a[i*lda+l], in the order of i. n is a positive
// multiple of 8.
func AxpysF64(a *float64, lda, n int, s *[4]float64, y *float64) { panic("asm: no AVX2 in this build") }

// AxpysF32 is AxpysF64 for float32; n is a positive multiple of 16.
func AxpysF32(a *float32, lda, n int, s *[4]float32, y *float32) { panic("asm: no AVX2 in this build") }
