//go:build !cgo || (!openblas && !mkl)

package peers

import "github.com/tessera-la/tessera/internal/matgen"

// linked returns the library of this build; ok is false if there is none.
func linked[T matgen.Element]() (l library[T], ok bool) { return l, false }
