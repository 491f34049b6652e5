//go:build !cgo || (!openblas && !mkl)

package cpu

// BLAS returns the routines of the C library that this build is linked with,
// one thread at a time once [SetBLASThreads] said so; ok is false if there is
// none, that is without one of the build tags openblas and mkl or without
// cgo.
func BLAS[T Element]() (r Routines[T], ok bool) { return nil, false }

// BLASSplit returns the routines of [BLAS] with trsm and potrf put together
// anew from smaller pieces; ok is false where BLAS's is.
func BLASSplit[T Element]() (r Routines[T], ok bool) { return nil, false }

// BLASLU returns the LU routines on top of [BLAS], with the library's xGETRF for
// [LU.Getrf]; ok is false if there is none.
func BLASLU[T Element](Caches) (l *LU[T], ok bool) { return nil, false }

// BLASLibrary returns what [BLASInfo] describes; ok is false if this build
// has no C library.
func BLASLibrary() (info BLASInfo, ok bool) { return BLASInfo{}, false }

// SetBLASThreads sets the number of threads that one call into the C library
// may use, for the whole process, and reports whether there is a library. The
// runtime wants 1: parallelism is its own business.
func SetBLASThreads(n int) (ok bool) { return false }
