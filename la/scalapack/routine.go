package scalapack

import (
	"fmt"
	"slices"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/internal/transpose"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// Matrices is the parameter of an op that calls a routine of ScaLAPACK: the grid of its ranks, and up to three matrices.
// [Submit] makes it.
type Matrices struct {
	Grid    Grid
	A, B, C Shape
}

// Shape is a matrix of tiles, whose blocks of NB×NB are those of ScaLAPACK. If NB is 0 there is no matrix.
type Shape struct {
	M, N, NB int32
	Kind     blocked.Kind
}

// maxMatrices is the number of matrices of a routine.
const maxMatrices = 3

func (x *Matrices) shapes() []*Shape { return []*Shape{&x.A, &x.B, &x.C} }

// Validate returns an error if a field is out of range.
func (x *Matrices) Validate() error {
	bad := func(field string) error {
		return &versions.ParamsError{Op: "a routine of ScaLAPACK", Field: field, Reason: "is out of range"}
	}
	if x.Grid.check() != nil {
		return bad("Grid")
	}
	for i, s := range x.shapes() {
		if s.M < 0 || s.N < 0 || s.NB < 0 || s.Kind < 0 || s.Kind > blocked.TriUpper {
			return bad(string(rune('A' + i)))
		}
	}
	return nil
}

// desc returns the descriptor of the matrix on process (p, q) of a grid, without a context.
func (s *Shape) desc(g Grid, p, q int) Desc {
	d := Desc{Type: 1, M: s.M, N: s.N, MB: s.NB, NB: s.NB}
	rows, _ := d.Local(g, p, q)
	d.LLD = int32(max(1, rows))
	return d
}

// tiles yields the tiles of process (p, q) that the matrix stores, row by row.
func (s *Shape) tiles(g Grid, p, q int) func(yield func(i, j int) bool) {
	return func(yield func(i, j int) bool) {
		if s.NB == 0 {
			return
		}
		uplo := s.Kind.Uplo()
		for i := p; i*int(s.NB) < int(s.M); i += g.P {
			for j := q; j*int(s.NB) < int(s.N); j += g.Q {
				if uplo == blas.Lower && i < j || uplo == blas.Upper && i > j {
					continue
				}
				if !yield(i, j) {
					return
				}
			}
		}
	}
}

// Submit submits a task of P·Q ranks to a job of a cluster.Driver: op, whose version calls [Locals], reads and writes all
// tiles of some matrices, one to three. Rank k is process k of the grid; it gets the tiles that this process has in
// ScaLAPACK's distribution with MB = NB = nb and RSRC = CSRC = 0. p orders the task among the others of the job.
//
// The error is that of [cluster.SubmitGroup], or a *[DescError].
func Submit[T kernels.Element](job exec.Job, p *blocked.Program[T], op *versions.Op, g Grid, all ...*blocked.Matrix[T]) error {
	if err := g.check(); err != nil {
		return err
	}
	if len(all) == 0 || len(all) > maxMatrices {
		return &DescError{Reason: fmt.Sprintf("a routine of %d matrices, want 1 to %d", len(all), maxMatrices)}
	}
	x := &Matrices{Grid: g}
	for k, s := range x.shapes()[:len(all)] {
		if slices.Contains(all[:k], all[k]) {
			return &DescError{Reason: "a routine gets the same matrix twice"}
		}
		m, n := all[k].Dims()
		*s = Shape{M: int32(m), N: int32(n), NB: int32(all[k].NB()), Kind: all[k].Kind()}
	}
	specs := make([]graph.Spec, g.P*g.Q)
	for k := range specs {
		row, col, _ := g.place(k)
		specs[k] = graph.Spec{Op: op, Params: x}
		for i, a := range all {
			for ti, tj := range x.shapes()[i].tiles(g, row, col) {
				specs[k].Operands = append(specs[k].Operands, p.Operand(a, ti, tj, graph.InOut))
			}
		}
	}
	_, err := cluster.SubmitGroup(job, specs)
	return err
}

// Local is the part of a matrix that a rank has: LLD·cols elements, column-major.
type Local[T kernels.Element] struct {
	Desc Desc // without a context
	Data []T
}

// Locals copies the tiles of a call into local arrays of ScaLAPACK, calls f with them, and copies them back. rank is that
// of the task. After each tile the call has finished with it, so tasks that wait for the tile begin. What a matrix does
// not store is 0 in its array. After an error of f the tiles are as they were. It returns that error, or a
// *versions.ParamsError if the operands are not those of [Submit].
func Locals[T kernels.Element](call *versions.Call, rank int, f func(all []Local[T]) error) error {
	x := call.Params.(*Matrices)
	row, col, ok := x.Grid.place(rank)
	if !ok {
		return &DescError{Reason: fmt.Sprintf("rank %d of a grid of %d×%d", rank, x.Grid.P, x.Grid.Q)}
	}
	var all []Local[T]
	type piece struct {
		tile *kernels.Tile[T]
		at   []T // of its first element
		ld   int
	}
	var pieces []piece
	for i, s := range x.shapes() {
		if s.NB == 0 {
			continue
		}
		d := s.desc(x.Grid, row, col)
		_, cols := d.Local(x.Grid, row, col)
		ld := int(d.LLD)
		l := Local[T]{d, make([]T, ld*cols)}
		for ti, tj := range s.tiles(x.Grid, row, col) {
			if len(pieces) == len(call.Args) {
				return wrongOperands(i)
			}
			t, ok := call.Args[len(pieces)].(*kernels.Tile[T])
			m, n := min(int(s.NB), int(s.M)-ti*int(s.NB)), min(int(s.NB), int(s.N)-tj*int(s.NB))
			if !ok || t.Rows != m || t.Cols != n {
				return wrongOperands(i)
			}
			at := l.Data[tj/x.Grid.Q*int(s.NB)*ld+ti/x.Grid.P*int(s.NB):]
			transpose.Copy(at, ld, t.Data, t.Stride, n, m)
			pieces = append(pieces, piece{t, at, ld})
		}
		all = append(all, l)
	}
	if len(pieces) != len(call.Args) {
		return wrongOperands(0)
	}
	if err := f(all); err != nil {
		return err
	}
	for k, x := range pieces {
		transpose.Copy(x.tile.Data, x.tile.Stride, x.at, x.ld, x.tile.Rows, x.tile.Cols)
		call.Finished(k)
	}
	return nil
}

// wrongOperands returns the error of operands that are not those of matrix i.
func wrongOperands(i int) error {
	return &versions.ParamsError{Op: "a routine of ScaLAPACK", Field: string(rune('A' + i)), Reason: "has other tiles than the operands"}
}
