//go:build !noasm

package avx2

//go:noescape
func dotsF64(a *float64, lda, n int, x *float64, s *[4]float64)

//go:noescape
func dotsF32(a *float32, lda, n int, x *float32, s *[4]float32)

//go:noescape
func axpysF64(a *float64, lda, n int, s *[4]float64, y *float64)

//go:noescape
func axpysF32(a *float32, lda, n int, s *[4]float32, y *float32)
