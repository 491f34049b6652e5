package loopapps

import "unsafe"

// rowMax computes u = max(rowmax(G∘cᵀ), c) of [Components] for rows lo to hi−1, where c is labels and u is
// next. It returns the number of elements that differ.
func rowMax(g *Pattern, labels, next []uint32, lo, hi int) (changed int) {
	rows, changed := rowMaxVector(g, labels, next, lo, hi)
	for i := lo + rows; i < hi; i++ {
		m := labels[i]
		if row := g.ja[g.ia[i]:g.ia[i+1]]; len(row) > 0 {
			m = largest(labels, row, m)
		}
		if m != labels[i] {
			changed++
		}
		next[i] = m
	}
	return changed
}

// largest returns the largest of m and the labels of a row. It computes two partial maxima: labels come from
// different places in the cache, and with two, fewer of them wait for the maximum before. Columns are valid
// vertices by construction and are not checked again. It is a separate function so that all its variables are
// in registers.
//
//go:noinline
func largest(labels []uint32, row []int32, m uint32) uint32 {
	c, at := unsafe.Pointer(unsafe.SliceData(labels)), unsafe.Pointer(unsafe.SliceData(row))
	label := func(column int32) uint32 { return *(*uint32)(unsafe.Add(c, 4*uintptr(uint32(column)))) }
	k, other := 0, uint32(0)
	for ; k+4 <= len(row); k += 4 {
		j := (*[4]int32)(unsafe.Add(at, 4*k))
		m, other = max(m, label(j[0])), max(other, label(j[1]))
		m, other = max(m, label(j[2])), max(other, label(j[3]))
	}
	for ; k < len(row); k++ {
		m = max(m, label(row[k]))
	}
	return max(m, other)
}
