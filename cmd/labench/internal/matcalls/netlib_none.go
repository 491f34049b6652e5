//go:build !(cgo && openblas && lapacke)

package matcalls

// netlibMat returns gonum's binding of the C library. ok is false in builds without it.
func netlibMat() (i implementation, ok bool) { return i, false }
