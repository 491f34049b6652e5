//go:build !noasm

package loopapps

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// rowMaxAVX2 is rowMax for rows lo to hi−1. There must be at least one.
//
//go:noescape
func rowMaxAVX2(labels, next *uint32, starts *int, columns *int32, lo, hi int) (changed int)

// rowMaxVector is rowMax for the first rows from lo on. It returns how many rows it did: all of them, or none
// without AVX2.
func rowMaxVector(g *Pattern, labels, next []uint32, lo, hi int) (rows, changed int) {
	if lo >= hi || !cpu.X86.HasAVX2 {
		return 0, 0
	}
	_, _ = labels[g.Vertices()-1], next[hi-1]
	return hi - lo, rowMaxAVX2(&labels[0], &next[0], &g.ia[0], unsafe.SliceData(g.ja), lo, hi)
}
