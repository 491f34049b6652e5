//go:build cuda && linux

package nvidia

/*
#cgo CFLAGS: -std=gnu11 -I${SRCDIR}/../../include -I/usr/local/cuda/include
#cgo LDFLAGS: -L${SRCDIR}/../../lib -ldl -lpthread
#include "shim.h"
#include <stdlib.h>
*/
import "C"

import (
	"fmt"
	"path/filepath"
	"unsafe"
)

// NotFoundError says that a library is not there, or why it cannot be used.
type NotFoundError struct {
	Library string // "libcuda"
	Reason  string
}

func (e *NotFoundError) Error() string { return e.Library + ": " + e.Reason }

// open loads the first library of the names that is in one of the directories.
// It returns the path under which it was found.
func open(dirs []string, names ...string) (lib unsafe.Pointer, path string, reason string) {
	why := make([]byte, 512)
	var reasons []string
	for _, dir := range dirs {
		for _, name := range names {
			path := filepath.Join(dir, name)
			c := C.CString(path)
			lib := C.tessera_open(c, (*C.char)(unsafe.Pointer(&why[0])), C.size_t(len(why)))
			C.free(unsafe.Pointer(c))
			if lib != nil {
				return lib, path, ""
			}
			reasons = append(reasons, C.GoString((*C.char)(unsafe.Pointer(&why[0]))))
		}
	}
	if reason = shorten(reasons); reason == "" {
		reason = "not found"
	}
	return nil, "", reason
}

// OpenDriver loads libcuda and initialises it. It must have succeeded before
// anything of gorgonia.org/cu is called. Later calls find the same library. The
// error is a *[NotFoundError] or a [Code].
func OpenDriver() error {
	lib, _, reason := open(search(), "libcuda.so.1", "libcuda.so")
	if lib == nil {
		return &NotFoundError{"libcuda", reason}
	}
	return driver(C.tessera_bind(lib))
}

// Libraries are cuBLAS and cuSOLVER.
type Libraries struct {
	c    *C.tessera_libraries // in C's memory: C keeps pointers to it
	CUDA int                  // the version of CUDA that they belong to
	Path string               // of cuBLAS
}

// OpenLibraries loads cuBLAS and cuSOLVER of the newest installed CUDA that is not
// newer than cuda, the version of the driver. The error is a *[NotFoundError].
func OpenLibraries(cuda int) (*Libraries, error) {
	dirs := search()
	var reasons []string
	library := "cuBLAS"
	for _, r := range releases() {
		if r.cuda > cuda {
			continue
		}
		for _, name := range r.needs {
			open(dirs, name) // or the dynamic linker finds it
		}
		blas, path, reason := open(dirs, r.blas)
		if blas == nil {
			reasons = append(reasons, fmt.Sprintf("%s: %s", r.blas, reason))
			continue
		}
		solver, _, reason := open(dirs, r.solver)
		if solver == nil {
			library = "cuSOLVER"
			reasons = append(reasons, fmt.Sprintf("%s: %s", r.solver, reason))
			continue
		}
		l := &Libraries{c: (*C.tessera_libraries)(C.calloc(1, C.sizeof_tessera_libraries)), CUDA: r.cuda, Path: path}
		if missing := C.tessera_lookup(l.c, blas, solver); missing != nil {
			library = "cuBLAS and cuSOLVER"
			reasons = append(reasons, fmt.Sprintf("%s has no function %s", path, C.GoString(missing)))
			C.free(unsafe.Pointer(l.c))
			continue
		}
		return l, nil
	}
	if reasons == nil {
		reasons = []string{fmt.Sprintf("the driver is of CUDA %d, and 11 is the oldest that this package knows", cuda)}
	}
	return nil, &NotFoundError{library, shorten(reasons)}
}
