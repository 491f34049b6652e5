package cpu

// roundUp returns the least multiple of m that is at least n.
func roundUp(n, m int) int { return (n + m - 1) / m * m }

// part returns the size of the blocks when n is cut into as few as possible
// of at most most elements, all of about one size and a multiple of m.
func part(n, most, m int) int {
	if n <= most {
		return n
	}
	blocks := (n + most - 1) / most
	return min(most, roundUp((n+blocks-1)/blocks, m))
}

// copyRows copies n rows of w elements: row i of dst is dst[(d0+i*dstep)*ldd:].
func copyRows[T Element](dst []T, d0, dstep, ldd int, src []T, s0, sstep, lds, w, n int) {
	for i := range n {
		d, o := (d0+i*dstep)*ldd, (s0+i*sstep)*lds
		copy(dst[d:d+w], src[o:o+w])
	}
}
