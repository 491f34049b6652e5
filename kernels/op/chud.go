package op

import (
	"math"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
)

// Chud is the parameter of op "chud" (LINPACK xCHUD and xCHDD): the Cholesky factor after a change of
// rank k, for a tile on the diagonal,
//
//	U'ᵀ·U' = Uᵀ·U + Xᵀ·X, or Uᵀ·U − Xᵀ·X if Down.
//
// Operands: U (inout, n×n; the upper triangle, with a positive diagonal), X (inout, k×n, undefined
// afterwards), C and S (out, k×n): the cosines and sines of the rotations, hyperbolic ones if Down, of the rows of U with
// each row of X. Op "chudm" applies them to tiles to the right.
//
// If Uᵀ·U − Xᵀ·X is not positive definite, the version returns a *kernels.NotPositiveDefiniteError with
// Minor = Offset+i for its leading minor i, counted from 1, and the operands are undefined.
//
// Reference: Bojanczyk, Brent, Van Dooren and de Hoog, A note on downdating the Cholesky factorization,
// SIAM J. Sci. Stat. Comput. 8 (1987), for the mixed form of hyperbolic rotations.
type Chud struct {
	Down   bool
	Offset int // global index of the first row of U
}

// Validate returns an error if a field is out of range.
func (p *Chud) Validate() error { return check("chud", p) }

// Chudm is the parameter of op "chudm": the rotations of op "chud", applied to a tile to the right of that on
// the diagonal.
//
// Operands: C and S (in, k×m), U (inout, m×n), X (inout, k×n).
type Chudm struct {
	Down bool
}

// chudOp defines op "chud".
func chudOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:     versions.Op{Name: "chud", Work: chudWork[T], NewParams: fresh[Chud]},
		about:  "a Cholesky factor after a change of low rank",
		copies: chud[T],
	}
}

// chudmOp defines op "chudm".
func chudmOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:     versions.Op{Name: "chudm", Work: chudmWork[T], NewParams: fresh[Chudm]},
		about:  "applies the rotations of chud",
		copies: chudm[T],
	}
}

// chudOf returns the operands of op "chud".
func chudOf[T kernels.Element](call *versions.Call) (u, x, c, s *kernels.Tile[T]) {
	u, s = args[T](call, 4)
	x, c = arg[T](call, 1), arg[T](call, 2)
	panicIf(u.Rows != u.Cols || x.Cols != u.Cols || c.Cols != u.Cols || c.Rows != x.Rows || s.Cols != u.Cols || s.Rows != x.Rows, kernels.ErrShape)
	return u, x, c, s
}

// chudmOf returns the operands of op "chudm".
func chudmOf[T kernels.Element](call *versions.Call) (c, s, u, x *kernels.Tile[T]) {
	c, x = args[T](call, 4)
	s, u = arg[T](call, 1), arg[T](call, 2)
	panicIf(x.Cols != u.Cols || c.Cols != u.Rows || c.Rows != x.Rows || s.Cols != u.Rows || s.Rows != x.Rows, kernels.ErrShape)
	return c, s, u, x
}

// chudWork returns 3·k·n·(n+1).
func chudWork[T kernels.Element](call *versions.Call) float64 {
	u, x, _, _ := chudOf[T](call)
	return 3 * float64(x.Rows) * float64(u.Rows) * float64(u.Rows+1)
}

// chudmWork returns 6·k·m·n.
func chudmWork[T kernels.Element](call *versions.Call) float64 {
	_, _, u, x := chudmOf[T](call)
	return 6 * float64(x.Rows) * float64(u.Rows) * float64(u.Cols)
}

// chud is the function of the version of op "chud".
func chud[T kernels.Element](call *versions.Call) error {
	p := params[Chud](call)
	u, x, cos, sin := chudOf[T](call)
	n := u.Rows
	for i := range n {
		row := u.Row(i)[i:n]
		for v := range x.Rows {
			y := x.Row(v)[i:n]
			c, s, d := rotation(p.Down, row[0], y[0])
			if !(d > 0) {
				return &kernels.NotPositiveDefiniteError{Minor: p.Offset + i + 1}
			}
			cos.Set(v, i, c)
			sin.Set(v, i, s)
			rotateRow(p.Down, c, s, row[1:], y[1:])
			row[0] = d
		}
	}
	return nil
}

// rotation returns the rotation that takes (d, x) to (diagonal, 0): a hyperbolic one if down is set. Then the diagonal
// is 0 or NaN if there is none.
func rotation[T kernels.Element](down bool, d, x T) (c, s, diagonal T) {
	if x == 0 {
		return 1, 0, d
	}
	a, b := float64(d), float64(x)
	if !down {
		h := math.Hypot(a, b)
		return T(a / h), T(b / h), T(h)
	}
	q := b / a
	cos := math.Sqrt((1 - q) * (1 + q))
	if !(cos > 0) {
		return 0, 0, 0
	}
	return T(cos), T(q), T(a * cos)
}

// rotateRow applies one rotation to a row of U and a row of X.
func rotateRow[T kernels.Element](down bool, c, s T, u, x []T) {
	x = x[:len(u)]
	if s == 0 {
		return
	}
	if !down {
		for j, a := range u {
			b := x[j]
			u[j] = c*a + s*b
			x[j] = c*b - s*a
		}
		return
	}
	f := 1 / c
	for j, a := range u {
		b := x[j]
		a = f * (a - s*b)
		u[j] = a
		x[j] = c*b - s*a
	}
}

// chudm is the function of the version of op "chudm". It rotates four rows of U with a row of X at a time.
func chudm[T kernels.Element](call *versions.Call) error {
	p := params[Chudm](call)
	cos, sin, u, x := chudmOf[T](call)
	for v := range x.Rows {
		y, c, s := x.Row(v), cos.Row(v), sin.Row(v)
		i := 0
		for ; i+4 <= u.Rows; i += 4 {
			c, s := (*[4]T)(c[i:]), (*[4]T)(s[i:])
			if *s == [4]T{} {
				continue
			}
			if p.Down {
				rotateDown4(c, s, u.Row(i), u.Row(i+1), u.Row(i+2), u.Row(i+3), y)
			} else {
				rotate4(c, s, u.Row(i), u.Row(i+1), u.Row(i+2), u.Row(i+3), y)
			}
		}
		for ; i < u.Rows; i++ {
			rotateRow(p.Down, c[i], s[i], u.Row(i), y)
		}
	}
	return nil
}

// rotate4 applies four rotations, one after the other, to rows of U and a row of X.
func rotate4[T kernels.Element](c, s *[4]T, u0, u1, u2, u3, x []T) {
	n := len(x)
	u0, u1, u2, u3 = u0[:n], u1[:n], u2[:n], u3[:n]
	c0, c1, c2, c3 := c[0], c[1], c[2], c[3]
	s0, s1, s2, s3 := s[0], s[1], s[2], s[3]
	for j, b := range x {
		a := u0[j]
		u0[j] = c0*a + s0*b
		b = c0*b - s0*a
		a = u1[j]
		u1[j] = c1*a + s1*b
		b = c1*b - s1*a
		a = u2[j]
		u2[j] = c2*a + s2*b
		b = c2*b - s2*a
		a = u3[j]
		u3[j] = c3*a + s3*b
		x[j] = c3*b - s3*a
	}
}

// rotateDown4 is rotate4 for hyperbolic rotations.
func rotateDown4[T kernels.Element](c, s *[4]T, u0, u1, u2, u3, x []T) {
	n := len(x)
	u0, u1, u2, u3 = u0[:n], u1[:n], u2[:n], u3[:n]
	c0, c1, c2, c3 := c[0], c[1], c[2], c[3]
	s0, s1, s2, s3 := s[0], s[1], s[2], s[3]
	f0, f1, f2, f3 := 1/c0, 1/c1, 1/c2, 1/c3
	for j, b := range x {
		a := f0 * (u0[j] - s0*b)
		u0[j] = a
		b = c0*b - s0*a
		a = f1 * (u1[j] - s1*b)
		u1[j] = a
		b = c1*b - s1*a
		a = f2 * (u2[j] - s2*b)
		u2[j] = a
		b = c2*b - s2*a
		a = f3 * (u3[j] - s3*b)
		u3[j] = a
		x[j] = c3*b - s3*a
	}
}
