//go:build !noasm

package neon

//go:noescape
func spmvF64(dst, x *float64, starts *int, columns *int32, values *float64, entries, lo, hi int) (rows int)
