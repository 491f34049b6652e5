//go:build !cgo || (!openblas && !mkl)

package cpu

// BLASQR returns the QR routines of the C library that this build is linked
// with; ok is false if there is none.
func BLASQR[T Element]() (q QRRoutines[T], ok bool) { return nil, false }
