package builtin

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// getrf returns the function of a version of op "getrf" for several units.
func (g *ganged[T]) getrf(l *cpu.LU[T]) func(*versions.Call) error {
	return func(call *versions.Call) error {
		p := params[kernels.Getrf](call)
		tiles, m, n, piv := luArgs[T](call)
		k := min(m, n)
		if cap(piv.Rows) < k {
			piv.Rows = make([]int, k)
		}
		piv.Rows = piv.Rows[:k]
		piv.Info = info(p.Offset, g.lu(l, call, blocks[T](nil, tiles), m, n, piv.Rows))
		return nil
	}
}

// getrfnp returns the function of a version of op "getrfnp" for several units.
func (g *ganged[T]) getrfnp(l *cpu.LU[T]) func(*versions.Call) error {
	return func(call *versions.Call) error {
		p := params[kernels.Getrfnp](call)
		tiles, m, n, piv := luArgs[T](call)
		piv.Info = info(p.Offset, g.lu(l, call, blocks[T](nil, tiles), m, n, nil))
		return nil
	}
}

// lu factors the panel a some columns after the other; what follows each block
// of them is done by the gang: first, in strips of columns, the interchanges and
// U, then the rest in strips of rows,
//
//	          c   kb
//	┌───────┬───┬───────┐
//	│       │   │       │ c
//	│       ├───┼───────┤
//	│  Pᵀ·L │L\U│L⁻¹·Pᵀ·A│ kb
//	│       ├───┼───────┤
//	│       │ L │ A−L·U │
//	└───────┴───┴───────┘
//
// Without ipiv there are no interchanges. It returns the column, from 1, of the
// first zero pivot, or 0.
func (g *ganged[T]) lu(l *cpu.LU[T], call *versions.Call, a []cpu.Block[T], m, n int, ipiv []int) (info int) {
	k := min(m, n)
	for c := 0; c < k; c += g.block {
		kb := min(g.block, k-c)
		work := versions.Scratch[T](call.Work, l.Work(m-c, kb))
		panel := subpanel(a, c, c)
		var zero int
		var swaps []int
		if ipiv == nil {
			zero = l.Getrfnp(kb, panel, work)
		} else {
			swaps = ipiv[c : c+kb]
			zero = l.Getrf(kb, panel, swaps, work)
		}
		if zero != 0 && info == 0 {
			info = c + zero
		}
		end := c + kb
		top, ld := a[0].Data, a[0].Stride
		if n > kb {
			// Of the other columns, those to the left come first.
			g.strips(call, n-kb, n, even, func(lo, hi int, work []T) {
				if lo < c && ipiv != nil {
					l.Laswp(min(hi, c)-lo, subpanel(a, c, lo), swaps, false)
				}
				if lo, hi := max(lo, c)+kb, hi+kb; lo < hi {
					right := subpanel(a, c, lo)
					if ipiv != nil {
						l.Laswp(hi-lo, right, swaps, false)
					}
					g.r.Trsm(blas.Left, blas.Lower, blas.NoTrans, blas.Unit, kb, hi-lo, 1, panel[0].Data, ld, right[0].Data, ld, work)
				}
			})
		}
		if n > end && m > end {
			g.strips(call, m-end, max(m, n), even, func(lo, hi int, work []T) {
				row := end // of the panel, at which a block begins
				for _, b := range subpanel(a, end, 0) {
					from, to := max(lo+end, row), min(hi+end, row+b.Rows)
					if from < to {
						o := (from - row) * b.Stride
						g.r.Gemm(blas.NoTrans, blas.NoTrans, to-from, n-end, kb, -1, b.Data[o+c:], b.Stride, top[c*ld+end:], ld, 1, b.Data[o+end:], b.Stride, work)
					}
					row += b.Rows
				}
			})
		}
		for i := range swaps {
			swaps[i] += c
		}
	}
	return info
}

// subpanel returns the panel a from a row of its first block and from column j on.
func subpanel[T kernels.Element](a []cpu.Block[T], row, j int) []cpu.Block[T] {
	b := append([]cpu.Block[T](nil), a...)
	for i := range b {
		o := j
		if i == 0 {
			b[0].Rows -= row
			o += row * b[0].Stride
		}
		b[i].Data = b[i].Data[min(o, len(b[i].Data)):]
	}
	return b
}

// laswp returns the function of a version of op "laswp" for several units,
// which take strips of columns.
func (g *ganged[T]) laswp(l *cpu.LU[T]) func(*versions.Call) error {
	return func(call *versions.Call) error {
		p := params[kernels.Laswp](call)
		tiles, m, n, piv := laswpArgs[T](call)
		if len(piv.Rows) > m {
			panic(kernels.ErrShape)
		}
		a := blocks[T](nil, tiles)
		g.strips(call, n, 0, even, func(lo, hi int, _ []T) {
			l.Laswp(hi-lo, subpanel(a, 0, lo), piv.Rows, p.Inverse)
		})
		return nil
	}
}
