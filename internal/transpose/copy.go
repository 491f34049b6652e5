package transpose

// Copy sets the rows×cols block dst to the transpose of the cols×rows
// block src: dst[r*ld+c] = src[c*ss+r]. It panics if a block does not fit.
func Copy[T any](dst []T, ld int, src []T, ss, rows, cols int) {
	// Eight columns of src at a time are one cache line of float64, used up
	// while it is there, and eight streams into dst.
	const block = 8
	r := 0
	for ; r+block <= rows; r += block {
		d0 := dst[(r+0)*ld:][:cols]
		d1 := dst[(r+1)*ld:][:cols]
		d2 := dst[(r+2)*ld:][:cols]
		d3 := dst[(r+3)*ld:][:cols]
		d4 := dst[(r+4)*ld:][:cols]
		d5 := dst[(r+5)*ld:][:cols]
		d6 := dst[(r+6)*ld:][:cols]
		d7 := dst[(r+7)*ld:][:cols]
		for c := range cols {
			s := (*[block]T)(src[c*ss+r:])
			d0[c], d1[c], d2[c], d3[c] = s[0], s[1], s[2], s[3]
			d4[c], d5[c], d6[c], d7[c] = s[4], s[5], s[6], s[7]
		}
	}
	for ; r < rows; r++ {
		d := dst[r*ld:][:cols]
		for c := range d {
			d[c] = src[c*ss+r]
		}
	}
}
