package op

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
)

// Larft is the parameter of op "larft" (LAPACK xLARFT): the triangular factor T of a
// block reflector H = I − V·T·Vᵀ, the product of n reflectors. It is computed from the
// inner products G = Vᵀ·V of their vectors and from their factors tau,
//
//	T(0:j, j) = −tau(j)·T(0:j, 0:j)·G(0:j, j),  T(j, j) = tau(j),
//
// in the columns of T from Column on. The elements below their diagonal are not written.
//
// Operands: G (in, n×n, its upper triangle), tau (in, 1×n), T (inout, n rows or more,
// Column + n columns or more).
type Larft struct {
	Column int
}

// Validate returns an error if a field is out of range.
func (p *Larft) Validate() error { return check("larft", p) }

// larftOp defines op "larft".
func larftOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:     versions.Op{Name: "larft", Work: larftWork[T], NewParams: fresh[Larft]},
		about:  "triangular factor of a block reflector",
		copies: larft[T],
	}
}

// larftOf returns the operands of op "larft". t is the columns of T that the op writes.
func larftOf[T kernels.Element](call *versions.Call) (g, tau *kernels.Tile[T], t kernels.Tile[T]) {
	p := params[Larft](call)
	panicIf(len(call.Args) != 3, kernels.ErrArgs)
	g, tau, whole := arg[T](call, 0), arg[T](call, 1), arg[T](call, 2)
	n := g.Rows
	panicIf(g.Cols != n || tau.Rows != 1 || tau.Cols != n || whole.Rows < n || p.Column < 0 || whole.Cols-p.Column < n, kernels.ErrShape)
	t = kernels.Tile[T]{Rows: n, Cols: n, Stride: whole.Stride}
	if n > 0 {
		t.Data = whole.Data[p.Column:]
	}
	return g, tau, t
}

// larftWork returns n³/3.
func larftWork[T kernels.Element](call *versions.Call) float64 {
	g, _, _ := larftOf[T](call)
	n := float64(g.Rows)
	return n * n * n / 3
}

// larft is the function of the version of op "larft".
func larft[T kernels.Element](call *versions.Call) error {
	g, tau, t := larftOf[T](call)
	z := versions.Scratch[T](call.Work, g.Rows)
	for j := range g.Rows {
		s := tau.At(0, j)
		for i := range j {
			z[i] = -s * g.At(i, j)
		}
		for i := range j {
			var sum T
			for l, x := range t.Row(i)[i:j] {
				sum += x * z[i+l]
			}
			t.Set(i, j, sum)
		}
		t.Set(j, j, s)
	}
	return nil
}
