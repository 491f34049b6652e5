package matgen

import "math"

// kahan returns element (i, j) of Kahan's matrix for the angle 1.2 (N. J.
// Higham, Accuracy and Stability of Numerical Algorithms, section 8.3).
func kahan(i, j int) float64 {
	s, c := math.Sincos(1.2)
	switch {
	case i > j:
		return 0
	case i == j:
		return math.Pow(s, float64(i))
	}
	return -c * math.Pow(s, float64(i))
}

// wilkinson returns element (i, j) of the matrix on which partial pivoting
// reaches its largest growth, 2ⁿ⁻¹ (J. H. Wilkinson, The Algebraic Eigenvalue
// Problem, 1965).
func wilkinson(i, j, n int) float64 {
	switch {
	case i == j || j == n-1:
		return 1
	case i > j:
		return -1
	}
	return 0
}

// foster returns element (i, j) of the matrix of order n of L. V. Foster,
// "Gaussian elimination with partial pivoting can fail in practice", 1994,
// with c = 1 and step k·h = 2/3: the trapezoidal rule for a Volterra equation
// below the diagonal, a boundary condition in the last column. Partial
// pivoting exchanges no rows and the growth is (2/3)·(2ⁿ⁻¹-1)+1.
func foster(i, j, n int) float64 {
	const kh = 2.0 / 3
	var v float64
	switch {
	case n == 1:
		return 1
	case i == 0 && j == 0:
		return 1
	case i > 0 && j == 0:
		return -kh / 2
	case i == j:
		v = 1 - kh/2
	case i > j:
		v = -kh
	}
	if j == n-1 {
		v--
	}
	return v
}

// gridSide returns the number of columns of the smallest square grid with n
// points.
func gridSide(n int) int {
	side := int(math.Sqrt(float64(n)))
	for side*side < n {
		side++
	}
	return max(side, 1)
}

// poisson2D returns element (i, j), i ≥ j, of the five-point Laplacian on a
// grid with side columns whose points are numbered row by row. The matrix for
// the first n points is a leading block of that of the whole grid, hence
// positive definite, too.
func poisson2D(i, j, side int) float64 {
	switch {
	case i == j:
		return 4
	case i-j == side, i-j == 1 && i%side != 0:
		return -1
	}
	return 0
}

// beam returns element (i, j), i ≥ j, of TᵀT of order n for the lower
// triangular T with rows [1 -2 1]: second differences, clamped at the first
// point, free at the last.
func beam(i, j, n int) float64 {
	switch i - j {
	case 0:
		switch n - i {
		case 1:
			return 1
		case 2:
			return 5
		}
		return 6
	case 1:
		if i == n-1 {
			return -2
		}
		return -4
	case 2:
		return 1
	}
	return 0
}

// prolate returns element (i, j) of the prolate matrix with w = 1/4.
func prolate(i, j int) float64 {
	k := i - j
	switch {
	case k == 0:
		return 0.5
	case k%2 == 0:
		return 0 // where math.Sin(πk/2) is not quite
	case k%4 == 1 || k%4 == -3:
		return 1 / (math.Pi * float64(k))
	}
	return -1 / (math.Pi * float64(k))
}

// indefinite returns element (i, j), i ≥ j, of S·L·D·Lᵀ·S for the L of ones,
// D = I but for D[minor-1] = -1/2, and S random powers of two with random
// signs. The pivots of a Cholesky factorization are S[k]²·D[k], all numbers
// are small multiples of powers of two, and so nothing is rounded.
func indefinite(seed uint64, i, j, minor int) float64 {
	sum := float64(j + 1) // of D[0..j]
	if j >= minor-1 {
		sum -= 1.5
	}
	scale := func(k int) float64 {
		return sign(seed, k) * math.Ldexp(1, int(word(seed, k, 1)%8)-4)
	}
	return sum * scale(i) * scale(j)
}
