//go:build cgo && openblas && !mkl

package cpu

/*
#cgo LDFLAGS: -lopenblas

extern void openblas_set_num_threads(int);
extern int openblas_get_num_threads(void);
extern char *openblas_get_corename(void);
extern char *openblas_get_config(void);
*/
import "C"

// BLASLibrary returns what [BLASInfo] describes; ok is false if this build
// has no C library.
func BLASLibrary() (info BLASInfo, ok bool) {
	return BLASInfo{
		Name:    "openblas",
		Core:    C.GoString(C.openblas_get_corename()),
		Config:  C.GoString(C.openblas_get_config()),
		Threads: int(C.openblas_get_num_threads()),
	}, true
}

// SetBLASThreads sets the number of threads that one call into the C library
// may use, for the whole process, and reports whether there is a library. The
// runtime wants 1: parallelism is its own business.
func SetBLASThreads(n int) (ok bool) {
	C.openblas_set_num_threads(C.int(n))
	return true
}

// prepareBLAS does what must come before the first call into the library:
// nothing.
func prepareBLAS() {}
