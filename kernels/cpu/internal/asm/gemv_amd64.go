//go:build !noasm

package asm

// HasAVX2 reports whether this build has the functions for AVX2.
func HasAVX2() bool { return true }

// HasAVX512 reports whether this build has the functions for AVX512.
func HasAVX512() bool { return true }

// DotsF64 computes the inner products of four rows of n elements, lda apart,
// with x, by AVX2 and FMA3: s[i] = Σ a[i*lda+l]·x[l]. n is a positive multiple
// of 8.
//
//go:noescape
func DotsF64(a *float64, lda, n int, x *float64, s *[4]float64)

// DotsF32 is DotsF64 for float32; n is a positive multiple of 16.
//
//go:noescape
func DotsF32(a *float32, lda, n int, x *float32, s *[4]float32)

// AxpysF64 adds multiples of four rows of n elements, lda apart, to y, by AVX2
// and FMA3: y[l] += Σ s[i]·a[i*lda+l], in the order of i. n is a positive
// multiple of 8.
//
//go:noescape
func AxpysF64(a *float64, lda, n int, s *[4]float64, y *float64)

// AxpysF32 is AxpysF64 for float32; n is a positive multiple of 16.
//
//go:noescape
func AxpysF32(a *float32, lda, n int, s *[4]float32, y *float32)
