//go:build !amd64 || noasm

package blocked

// copyFetching copies a rows×cols block from src to dst, with strides ss and ld,
// and fetches the rows of src that come some rows later, be they of this block
// or below it. It returns false, and has done nothing, if the rows are short, or
// without AVX2.
func copyFetching[T Element](dst []T, ld int, src []T, ss, rows, cols int) bool { return false }
