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
