package main

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// name is the name of the version.
const name = "mine"

// version returns a version of gemm/f64 for workers on any processor.
func version() versions.Version {
	return versions.Version{
		Name: name,
		Run: func(c *versions.Call) error {
			p := c.Params.(*op.Gemm[float64])
			a, b, to := c.Args[0].(*kernels.Tile[float64]), c.Args[1].(*kernels.Tile[float64]), c.Args[2].(*kernels.Tile[float64])
			multiply(p, a, b, to)
			// Other tasks may share packed forms of A and B. This version does not use them, so it says that it is
			// done with them.
			share := kernels.PackingsOf(c)
			share.A.Done(false)
			share.B.Done(false)
			return nil
		},
	}
}

// multiply computes C = Alpha·op(A)·op(B) + Beta·C, row by row of C.
func multiply(p *op.Gemm[float64], a, b, c *kernels.Tile[float64]) {
	k := a.Cols
	if p.TransA != blas.NoTrans {
		k = a.Rows
	}
	for i := range c.Rows {
		row := c.Row(i)
		for j := range row {
			if p.Beta == 0 { // then C may hold NaN
				row[j] = 0
			} else {
				row[j] *= p.Beta
			}
		}
		if p.Alpha == 0 { // then A and B may
			continue
		}
		for l := range k {
			x := p.Alpha
			if p.TransA == blas.NoTrans {
				x *= a.At(i, l)
			} else {
				x *= a.At(l, i)
			}
			if p.TransB == blas.NoTrans {
				for j, y := range b.Row(l) {
					row[j] += x * y
				}
			} else {
				for j := range row {
					row[j] += x * b.At(j, l)
				}
			}
		}
	}
}
