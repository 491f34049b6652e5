package builtin

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// copyVersion is the one version of the ops below. It is not called "go", so that who
// excludes portable kernels can still copy.
const copyVersion = "copy"

// addCopies gives ops lacpy and laset their version, and what takes no more time than a
// copy.
func addCopies[T kernels.Element](o *kernels.Ops[T]) {
	o.Lacpy.Versions = []versions.Version{{Name: copyVersion, Run: lacpy[T]}}
	o.Larft.Versions = []versions.Version{{Name: copyVersion, Run: larft[T]}}
	o.Recut.Versions = []versions.Version{{Name: copyVersion, Run: recut[T]}}
	o.Laset.Versions = []versions.Version{{Name: copyVersion, Run: laset[T]}}
	o.Plrnt.Versions = []versions.Version{{Name: copyVersion, Run: plrnt[T]}}
	o.Asum.Versions = []versions.Version{{Name: copyVersion, Run: asum[T]}}
	o.Lange.Versions = []versions.Version{{Name: copyVersion, Run: lange[T]}}
	o.Lag2s.Versions = []versions.Version{{Name: copyVersion, Run: lag2s[T]}}
	o.Lag2d.Versions = []versions.Version{{Name: copyVersion, Run: lag2d[T]}}
	o.Lasym.Versions = []versions.Version{{Name: copyVersion, Run: lasym[T]}}
}

// triangle returns the columns of row i, of n, that belong to the uplo part.
func triangle(uplo blas.Uplo, i, n int) (lo, hi int) {
	switch uplo {
	case blas.Lower:
		return 0, min(i+1, n)
	case blas.Upper:
		return min(i, n), n
	}
	return 0, n
}

// lacpyOf returns the operands of op "lacpy".
func lacpyOf[T kernels.Element](call *versions.Call) (a, b *kernels.Tile[T]) {
	a, b = args[T](call, 2)
	if a.Rows < b.Rows || a.Cols < b.Cols {
		panic(kernels.ErrShape)
	}
	return a, b
}

func lacpy[T kernels.Element](call *versions.Call) error {
	p := params[kernels.Lacpy](call)
	a, b := lacpyOf[T](call)
	for i := range b.Rows {
		lo, hi := triangle(p.Uplo, i, b.Cols)
		copy(b.Row(i)[lo:hi], a.Row(i)[lo:hi])
	}
	return nil
}

// lacpyWork returns the elements of B.
func lacpyWork[T kernels.Element](call *versions.Call) float64 {
	_, b := lacpyOf[T](call)
	return float64(b.Rows) * float64(b.Cols)
}

// recut copies what B has of each tile.
func recut[T kernels.Element](call *versions.Call) error {
	p, b := params[kernels.Recut](call), arg[T](call, 0)
	tiles := len(call.Args) - 1
	down := 0
	switch across := p.Across; {
	case across < 1:
	case p.Uplo != blas.Lower && p.Uplo != blas.Upper:
		down = tiles / across
	case tiles == across*(across+1)/2:
		down = across
	}
	if down == 0 || min(p.Row, p.Col) < 0 {
		panic(kernels.ErrShape)
	}
	widths := make([]int, p.Across) // 0 while it is not known
	k, top, right := 1, -p.Row, 0   // the tile that is next, and where it begins in B
	for i := range down {
		lo, hi := triangle(p.Uplo, i, p.Across)
		high, left := arg[T](call, k).Rows, -p.Col
		for j := range p.Across {
			if j >= lo && j < hi {
				a := arg[T](call, k)
				if a.Rows != high || widths[j] != 0 && a.Cols != widths[j] {
					panic(kernels.ErrShape)
				}
				widths[j] = a.Cols
				from, to := max(left, 0), min(left+a.Cols, b.Cols)
				for r := max(top, 0); r < min(top+high, b.Rows) && from < to; r++ {
					copy(b.Row(r)[from:to], a.Row(r - top)[from-left:to-left])
				}
				k++
			}
			left += widths[j]
		}
		top, right = top+high, max(right, left)
	}
	if k <= tiles || top < b.Rows || right < b.Cols {
		panic(kernels.ErrShape)
	}
	return nil
}

// recutWork returns the elements of B.
func recutWork[T kernels.Element](call *versions.Call) float64 {
	b := arg[T](call, 0)
	return float64(b.Rows) * float64(b.Cols)
}

func laset[T kernels.Element](call *versions.Call) error {
	p := params[kernels.Laset](call)
	a, _ := args[T](call, 1)
	for i := range a.Rows {
		lo, hi := triangle(p.Uplo, i, a.Cols)
		row := a.Row(i)
		for j := lo; j < hi; j++ {
			row[j] = T(p.Alpha)
		}
		if lo <= i && i < hi {
			row[i] = T(p.Beta)
		}
	}
	return nil
}

// lasetWork returns the elements of A.
func lasetWork[T kernels.Element](call *versions.Call) float64 {
	a, _ := args[T](call, 1)
	return float64(a.Rows) * float64(a.Cols)
}
