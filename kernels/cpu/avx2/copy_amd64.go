//go:build !noasm

package avx2

import "unsafe"

//go:noescape
func copyRows(dst unsafe.Pointer, ld int, src unsafe.Pointer, ss, n, rows, ahead int)
