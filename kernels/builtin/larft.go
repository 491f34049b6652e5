package builtin

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
)

// larftOf returns the operands of op "larft", of T the columns that it writes.
func larftOf[T kernels.Element](call *versions.Call) (g, tau *kernels.Tile[T], t kernels.Tile[T]) {
	p := params[kernels.Larft](call)
	if len(call.Args) != 3 {
		panic(kernels.ErrArgs)
	}
	g, tau, whole := arg[T](call, 0), arg[T](call, 1), arg[T](call, 2)
	n := g.Rows
	if g.Cols != n || tau.Rows != 1 || tau.Cols != n || whole.Rows < n || p.Column < 0 || whole.Cols-p.Column < n {
		panic(kernels.ErrShape)
	}
	t = kernels.Tile[T]{Rows: n, Cols: n, Stride: whole.Stride}
	if n > 0 {
		t.Data = whole.Data[p.Column:]
	}
	return g, tau, t
}

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

// larftWork returns the floating point operations: n³/3.
func larftWork[T kernels.Element](call *versions.Call) float64 {
	g, _, _ := larftOf[T](call)
	n := float64(g.Rows)
	return n * n * n / 3
}
