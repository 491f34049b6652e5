//go:build cgo && mkl && !openblas

package cpu

/*
#cgo LDFLAGS: -Wl,--no-as-needed -lmkl_rt -lgomp -lm -ldl -lpthread

extern int MKL_Set_Threading_Layer(int);
extern void MKL_Set_Num_Threads(int);
extern int MKL_Get_Max_Threads(void);
extern void MKL_Get_Version_String(char *, int);
*/
import "C"

import (
	"os"
	"sync"
)

// prepareBLAS lets mkl_rt take its threads from GNU's OpenMP library, which
// comes with the C compiler, unless MKL_THREADING_LAYER says otherwise; the
// default is Intel's, which Debian does not have. It must come before any other
// call into MKL, which loads its layers then; and without --no-as-needed the
// layers do not find the symbols of the libraries named after mkl_rt.
var prepareBLAS = sync.OnceFunc(func() {
	if os.Getenv("MKL_THREADING_LAYER") == "" {
		const gnu = 3
		C.MKL_Set_Threading_Layer(gnu)
	}
})

// BLASLibrary returns what [BLASInfo] describes; ok is false if this build
// has no C library.
func BLASLibrary() (info BLASInfo, ok bool) {
	prepareBLAS()
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
	prepareBLAS()
	C.MKL_Set_Num_Threads(C.int(n))
	return true
}
