package matgen

import "math"

// elements returns the function that computes the elements of the matrix that s names. s must be valid.
func (s Spec) elements(l limits) func(i, j int) float64 {
	if s.Kind.Symmetric() {
		at := s.symmetric(l)
		// One half is the mirror image of the other to the last bit, also
		// where the compiler fuses multiplications and additions.
		return func(i, j int) float64 { return at(max(i, j), min(i, j)) }
	}
	return s.general(l)
}

// general returns the elements of the kinds without symmetry.
func (s Spec) general(l limits) func(i, j int) float64 {
	seed, m, n := s.Seed, s.M, s.N
	random := func(i, j int) float64 { return Uniform(seed, i, j) }
	cond := func() func(i, j int) float64 {
		cond, scale := s.spectrum(l)
		return newGeneral(seed, m, n, geometric(min(m, n), cond, scale)).at
	}
	switch s.Kind {
	case Cond, Cond2, CondSqrt, CondMax, Tiny, Huge:
		return cond()
	case Diagonal:
		d := geometric(min(m, n), 2, 1)
		return zeroIf(func(i, _ int) float64 { return d[i] * sign(seed, i) }, offDiagonal)
	case Upper:
		return zeroIf(func(i, j int) float64 { return triangular(seed, i, j, n) }, func(i, j int) bool { return i > j })
	case Lower:
		return zeroIf(func(i, j int) float64 { return triangular(seed, i, j, m) }, func(i, j int) bool { return i < j })
	case FirstColumnZero:
		return zeroIf(cond(), func(_, j int) bool { return j == 0 })
	case LastColumnZero:
		return zeroIf(cond(), func(_, j int) bool { return j == n-1 })
	case LastHalfZero:
		return zeroIf(cond(), func(_, j int) bool { return j >= n/2 })
	case ZeroRow:
		return zeroIf(random, func(i, _ int) bool { return i == m/2 })
	case Graded:
		return func(i, j int) float64 { return random(i, j) * grade(i, m) * grade(j, n) }
	case SingularTile:
		u, v := stream(seed, 0), stream(seed, 1)
		return s.inTile(random, func(i, j int) float64 { return 2 * Uniform(u, i, 0) * Uniform(v, j, 0) })
	case ZeroTile:
		return s.inTile(random, func(int, int) float64 { return 0 })
	case ScaledTile:
		return s.inTile(random, func(i, j int) float64 { return 1e-8 * random(i, j) })
	case Kahan:
		return kahan
	case Wilkinson:
		return func(i, j int) float64 { return wilkinson(i, j, n) }
	case Foster:
		return func(i, j int) float64 { return foster(i, j, n) }
	}
	return random
}

// symmetric returns the elements (i, j), i ≥ j, of the symmetric kinds.
func (s Spec) symmetric(l limits) func(i, j int) float64 {
	if at := s.textbook(); at != nil {
		return at
	}
	seed, n := s.Seed, s.N
	cond := func() func(i, j int) float64 {
		cond, scale := s.spectrum(l)
		return newSymmetric(seed, geometric(n, cond, scale)).at
	}
	spd := func(i, j int) float64 {
		if i == j {
			return Uniform(seed, i, i) + float64(n)
		}
		return Uniform(seed, i, j)
	}
	cross := func(k int) func(i, j int) bool {
		return func(i, j int) bool { return i == k || j == k }
	}
	switch s.Kind {
	case SPDCond, SPDCond2, SPDCondSqrt, SPDCondMax, SPDTiny, SPDHuge:
		return cond()
	case SPDDiagonal:
		d := geometric(n, 2, 1)
		return zeroIf(func(i, _ int) float64 { return d[i] }, offDiagonal)
	case FirstZero:
		return zeroIf(cond(), cross(0))
	case LastZero:
		return zeroIf(cond(), cross(n-1))
	case MiddleZero:
		return zeroIf(cond(), cross(n/2))
	case SPDGraded:
		return func(i, j int) float64 { return spd(i, j) * (grade(i, n) * grade(j, n)) }
	case SPDScaledTile:
		nb, tile := s.nb(), s.TileRow
		scale := func(i int) float64 {
			if i/nb == tile {
				return 1e-4
			}
			return 1
		}
		return func(i, j int) float64 { return spd(i, j) * (scale(i) * scale(j)) }
	case Indefinite:
		minor := s.Minor
		if minor == 0 {
			minor = n
		}
		return func(i, j int) float64 { return indefinite(seed, i, j, minor) }
	}
	return spd
}

// textbook returns the elements (i, j), i ≥ j, of the symmetric kinds that have a formula without
// random numbers; nil for the others.
func (s Spec) textbook() func(i, j int) float64 {
	n := s.N
	switch s.Kind {
	case Poisson2D:
		side := gridSide(n)
		return func(i, j int) float64 { return poisson2D(i, j, side) }
	case Beam:
		return func(i, j int) float64 { return beam(i, j, n) }
	case KMS:
		return func(i, j int) float64 { return math.Ldexp(1, j-i) }
	case Prolate:
		return prolate
	case Hilbert:
		return func(i, j int) float64 { return 1 / float64(i+j+1) }
	case Lehmer:
		return func(i, j int) float64 { return float64(j+1) / float64(i+1) }
	case Moler:
		return func(i, j int) float64 {
			if i == j {
				return float64(i + 1)
			}
			return float64(j - 1)
		}
	case MinIJ:
		return func(_, j int) float64 { return float64(j + 1) }
	case Identity:
		return zeroIf(func(int, int) float64 { return 1 }, offDiagonal)
	}
	return nil
}

// spectrum returns the condition number and the largest singular value of the kinds that are defined by these.
func (s Spec) spectrum(l limits) (cond, scale float64) {
	switch s.Kind {
	case Cond, SPDCond:
		if s.Cond == 0 {
			return 1e4, 1
		}
		return s.Cond, 1
	case CondSqrt, SPDCondSqrt:
		return math.Sqrt(0.1 / l.eps), 1
	case CondMax, SPDCondMax:
		return 0.1 / l.eps, 1
	case Tiny, SPDTiny:
		return 2, l.tiny
	case Huge, SPDHuge:
		return 2, 1 / l.tiny
	}
	return 2, 1
}

// zeroIf returns at, with zeros where zero returns true.
func zeroIf(at func(i, j int) float64, zero func(i, j int) bool) func(i, j int) float64 {
	return func(i, j int) float64 {
		if zero(i, j) {
			return 0
		}
		return at(i, j)
	}
}

func offDiagonal(i, j int) bool { return i != j }

// inTile returns the function that is inside for the elements of the tile that s names, and outside for all
// others.
func (s Spec) inTile(outside, inside func(i, j int) float64) func(i, j int) float64 {
	nb, row, col := s.nb(), s.TileRow, s.TileCol
	return func(i, j int) float64 {
		if i/nb == row && j/nb == col {
			return inside(i, j)
		}
		return outside(i, j)
	}
}

// grade returns 10⁰ … 10⁻⁶ for i from 0 to n-1.
func grade(i, n int) float64 {
	if n < 2 {
		return 1
	}
	return math.Pow(10, -6*float64(i)/float64(n-1))
}

// triangular returns the stored elements of a random triangular matrix of order n. Off the diagonal they shrink
// with √n. Otherwise the condition number would grow exponentially with n.
func triangular(seed uint64, i, j, n int) float64 {
	if i == j {
		return sign(seed, i) * (1.5 + Uniform(seed, i, i))
	}
	return Uniform(seed, i, j) / math.Sqrt(float64(n))
}
