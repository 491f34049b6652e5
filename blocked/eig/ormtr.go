package eig

import (
	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/internal/submit"
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
)

// Ormsb2st submits the transformation of the eigenvectors of T to those of C: Sᵀ becomes (Q2·S)ᵀ. Each strip is transformed
// where it is, so nothing but the reflectors is sent.
//
// Reference: LAPACK xSYTRD_SB2ST.
func Ormsb2st[T blocked.Element](p *blocked.Program[T], s *Symmetric[T]) error {
	tasks := submit.Of(p)
	sweeps, strips := data(tasks, s, "sweeps", s.sweeps, s.byColumn), data(tasks, s, "strips", s.strips, s.byStrip())
	params := &op.Ormsb2st{B: s.band}
	for i := len(sweeps) - 1; i >= 0; i-- {
		for j := range strips {
			tasks.Submit(tasks.Op("ormsb2st"), params, int64(i), submit.InOut(&strips[j]), submit.In(&sweeps[i]))
		}
	}
	return tasks.Err
}

// panelsTogether is how many panels a task applies: fewer tasks, each of which fetches all that it needs before it starts.
const panelsTogether = 4

// Ormsy2sb submits the transformation of the eigenvectors of C to those of A: (Q2·S)ᵀ becomes Vᵀ.
//
// Reference: LAPACK xUNMTR of xSYTRD_SY2SB.
func Ormsy2sb[T blocked.Element](p *blocked.Program[T], s *Symmetric[T]) error {
	tasks := submit.Of(p)
	v, f := data(tasks, s, "V", s.v, s.byPanel), data(tasks, s, "F", s.f, s.byPanel)
	strips := data(tasks, s, "strips", s.strips, s.byStrip())
	params := new(op.Ormsy2sb)
	for end := len(v); end > 0; end -= panelsTogether {
		for j := range strips {
			operands := append(tasks.Operands[:0], submit.InOut(&strips[j]))
			for i := end - 1; i >= max(end-panelsTogether, 0); i-- {
				operands = append(operands, submit.In(&v[i]), submit.In(&f[i]))
			}
			tasks.Operands = operands
			tasks.Submit(tasks.Op("ormsy2sb"), params, int64(end), operands...)
		}
	}
	return tasks.Err
}

// CopyVectors submits dst = V, the transpose of the strips. It panics with ErrKind unless dst is Full, and with ErrShape unless it has
// n rows and a column for each eigenvector.
func CopyVectors[T blocked.Element](p *blocked.Program[T], s *Symmetric[T], dst *blocked.Matrix[T]) error {
	switch m, k := dst.Dims(); {
	case dst.Kind() != blocked.Full:
		panic(blocked.ErrKind)
	case m != s.n || k != s.last-s.first:
		panic(blocked.ErrShape)
	}
	tasks := submit.Of(p)
	strips, to := data(tasks, s, "strips", s.strips, s.byStrip()), tasks.Operand(dst)
	high := s.stripRows()
	for i, j := range dst.StoredTiles() {
		_, cols := dst.TileDims(i, j)
		at := j * dst.NB()
		operands := append(tasks.Operands[:0], submit.Out(to.Tile(i, j)))
		for l := at / high; l*high < at+cols; l++ {
			operands = append(operands, submit.In(&strips[l]))
		}
		tasks.Operands = operands
		tasks.Submit(tasks.Op("recut"), &op.Recut{Across: 1, Row: at % high, Col: i * dst.NB(), Uplo: blas.All, Trans: true}, 0, operands...)
	}
	return tasks.Err
}
