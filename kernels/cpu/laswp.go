package cpu

// Laswp exchanges, in the n columns of the panel B whose rows the blocks hold
// from top to bottom, row i with row ipiv[i], for i = 0, 1, …: B = Pᵀ·B for the
// P of [LU.Getrf]. If inverse, it begins with the last one: B = P·B. It panics
// if a row is not in the panel. Reference: LAPACK xLASWP.
func Laswp[T Element](n int, b []Block[T], ipiv []int, inverse bool) {
	m := checkBlocks(n, b)
	if len(ipiv) > m {
		panic(ErrPivots)
	}
	for _, r := range ipiv {
		if r < 0 || r >= m {
			panic(ErrPivots)
		}
	}
	if n == 0 {
		return
	}
	if !inverse {
		swapRows(b, 0, n, 0, ipiv)
		return
	}
	for i := len(ipiv) - 1; i >= 0; i-- {
		if r := ipiv[i]; r != i {
			exchange(rowOf(b, i, 0, n), rowOf(b, r, 0, n))
		}
	}
}

// swapRows exchanges row c+i with row ipiv[i] in the n columns from j on.
func swapRows[T Element](a []Block[T], j, n, c int, ipiv []int) {
	for i, r := range ipiv {
		if r != c+i {
			exchange(rowOf(a, c+i, j, n), rowOf(a, r, j, n))
		}
	}
}

// rowOf returns the n elements from column j on of row i.
func rowOf[T Element](a []Block[T], i, j, n int) []T {
	b := 0
	for i >= a[b].Rows {
		i -= a[b].Rows
		b++
	}
	o := i*a[b].Stride + j
	return a[b].Data[o : o+n : o+n]
}

// exchange exchanges the elements of x and y, which do not overlap. Long rows
// go through a buffer in the first-level cache: the runtime copies by vectors.
func exchange[T Element](x, y []T) {
	const chunk = 128
	var buf [chunk]T
	for len(x) >= 16 {
		n := min(len(x), chunk)
		copy(buf[:n], x[:n])
		copy(x[:n], y[:n])
		copy(y[:n], buf[:n])
		x, y = x[n:], y[n:]
	}
	y = y[:len(x)]
	for i, v := range x {
		x[i], y[i] = y[i], v
	}
}
