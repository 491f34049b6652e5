package builtin

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// panelSolve returns what is done to each B.
func panelSolve(p *kernels.Potrfp) (side blas.Side, trans blas.Transpose) {
	if p.Uplo == blas.Upper {
		return blas.Left, blas.Trans
	}
	return blas.Right, blas.Trans
}

// potrfpOf returns the first operand of op "potrfp" and checks the others.
func potrfpOf[T kernels.Element](call *versions.Call, p *kernels.Potrfp) *kernels.Tile[T] {
	if len(call.Args) == 0 {
		panic(kernels.ErrArgs)
	}
	a := arg[T](call, 0)
	if a.Rows != a.Cols {
		panic(kernels.ErrShape)
	}
	for i := 1; i < len(call.Args); i++ {
		b := arg[T](call, i)
		order := b.Cols
		if p.Uplo == blas.Upper {
			order = b.Rows
		}
		if order != a.Rows {
			panic(kernels.ErrShape)
		}
	}
	return a
}

// finish hands on operand i, which is done.
func finish(p *kernels.Potrfp, call *versions.Call, i int) {
	if !p.Lazy {
		call.Finished(i)
	}
}

// potrfp returns the function of a version of op "potrfp".
func potrfp[T kernels.Element](r cpu.Routines[T]) func(*versions.Call) error {
	return func(call *versions.Call) error {
		p := params[kernels.Potrfp](call)
		a := potrfpOf[T](call, p)
		if info := r.Potrf(p.Uplo, a.Rows, a.Data, a.Stride, versions.Scratch[T](call.Work, r.Work(a.Rows))); info != 0 {
			return &kernels.NotPositiveDefiniteError{Minor: p.Offset + info}
		}
		side, trans := panelSolve(p)
		for i := 1; i < len(call.Args); i++ {
			b := arg[T](call, i)
			work := versions.Scratch[T](call.Work, r.Work(max(b.Rows, b.Cols)))
			r.Trsm(side, p.Uplo, trans, blas.NonUnit, b.Rows, b.Cols, 1, a.Data, a.Stride, b.Data, b.Stride, work)
			finish(p, call, i)
		}
		return nil
	}
}

// potrfp is the function of a version of op "potrfp" for several units: they
// factor A together and take the tiles B one at a time.
func (g *ganged[T]) potrfp(call *versions.Call) error {
	p := params[kernels.Potrfp](call)
	a := potrfpOf[T](call, p)
	if err := g.factor(call, p.Uplo, p.Offset, a); err != nil {
		return err
	}
	side, trans := panelSolve(p)
	call.Parallel(len(call.Args)-1, func(i int, w *versions.Workspace) {
		b := arg[T](call, i+1)
		work := versions.Scratch[T](w, g.r.Work(max(b.Rows, b.Cols)))
		g.r.Trsm(side, p.Uplo, trans, blas.NonUnit, b.Rows, b.Cols, 1, a.Data, a.Stride, b.Data, b.Stride, work)
		finish(p, call, i+1)
	})
	return nil
}

// potrfpWork returns n³/3 + n²/2 + n/6 and m·n² for every B.
func potrfpWork[T kernels.Element](call *versions.Call) float64 {
	a := potrfpOf[T](call, params[kernels.Potrfp](call))
	n := float64(a.Rows)
	work := n * (n + 1) * (2*n + 1) / 6
	for i := 1; i < len(call.Args); i++ {
		b := arg[T](call, i)
		work += n * float64(b.Rows) * float64(b.Cols)
	}
	return work
}
