//go:build cgo && mkl && !openblas

package cpu

/*
#cgo LDFLAGS: -Wl,--no-as-needed -lmkl_rt -lm -ldl -lpthread

extern void MKL_Set_Num_Threads(int);
extern int MKL_Get_Max_Threads(void);
extern void MKL_Get_Version_String(char *, int);
*/
import "C"

// mkl_rt loads its layers at the first call. For threads it wants Intel's
// OpenMP library, or LLVM's in its place, unless the environment variable
// MKL_THREADING_LAYER says GNU or SEQUENTIAL; without --no-as-needed the
// layers do not find the symbols of the C libraries named after it.

// BLASLibrary returns what [BLASInfo] describes; ok is false if this build
// has no C library.
func BLASLibrary() (info BLASInfo, ok bool) {
	// MKL names the processor in its version string and nowhere else.
	var buf [256]C.char
	C.MKL_Get_Version_String(&buf[0], C.int(len(buf)))
	buf[len(buf)-1] = 0
	return BLASInfo{
		Name:    "mkl",
		Config:  C.GoString(&buf[0]),
		Threads: int(C.MKL_Get_Max_Threads()),
	}, true
}

// SetBLASThreads sets the number of threads that one call into the C library
// may use, for the whole process, and reports whether there is a library. The
// runtime wants 1: parallelism is its own business.
func SetBLASThreads(n int) (ok bool) {
	C.MKL_Set_Num_Threads(C.int(n))
	return true
}
