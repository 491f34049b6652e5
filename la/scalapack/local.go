package scalapack

import (
	"fmt"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/internal/transpose"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// NewProcess returns the process with number rank, from 0, in a grid. A process whose rank is beyond the grid
// may be the driver or an agent, but it has no part of any matrix. The error is a *[DescError].
func NewProcess(g Grid, rank int) (*Process, error) {
	if err := g.check(); err != nil {
		return nil, err
	}
	if rank < 0 {
		return nil, &DescError{Reason: fmt.Sprintf("process %d", rank)}
	}
	s := &Process{grid: g, rank: rank, arrays: map[string]any{}, others: map[string]*versions.Op{}}
	if _, _, ok := g.place(rank); ok {
		s.own = []*versions.Op{
			newOp(packing, rank, "f32", s.pack32), newOp(packing, rank, "f64", s.pack64),
			newOp(unpacking, rank, "f32", s.unpack32), newOp(unpacking, rank, "f64", s.unpack64),
		}
	}
	return s, nil
}

// Ops returns the ops that this process must list as a node, in cluster.Options.Ops. A program on exec.Local
// need not list them.
func (s *Process) Ops() []*versions.Op {
	return append(append([]*versions.Op(nil), s.own...), common()...)
}

// op returns the op of a process. This process can execute it only if it is its own.
func (s *Process) op(what string, process int, typ string) *versions.Op {
	op := newOp(what, process, typ, nil)
	for _, own := range s.own {
		if own.OpName() == op.OpName() {
			return own
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.others[op.OpName()] == nil {
		s.others[op.OpName()] = op
	}
	return s.others[op.OpName()]
}

func (s *Process) pack32(c *versions.Call) error   { return pack[float32](s, c) }
func (s *Process) pack64(c *versions.Call) error   { return pack[float64](s, c) }
func (s *Process) unpack32(c *versions.Call) error { return unpack[float32](s, c) }
func (s *Process) unpack64(c *versions.Call) error { return unpack[float64](s, c) }

// pack overwrites the operand, a tile, with the part of a tile of the matrix that the process has.
func pack[T kernels.Element](s *Process, call *versions.Call) error {
	x, t := call.Params.(*part), call.Args[0].(*kernels.Tile[T])
	a, err := array[T](s, x)
	if err != nil {
		return err
	}
	rows, cols, m, n := x.runs(x.Row, x.Col)
	if err := shaped(t, m, n); err != nil {
		return err
	}
	ld := int(a.desc.LLD)
	each(rows, cols, func(i, j, local, column, m, n int) {
		transpose.Copy(t.Data[i*t.Stride+j:], t.Stride, a.local[column*ld+local:], ld, m, n)
	})
	return nil
}

// unpack overwrites the elements of a tile that the process has with a part, the operand. It leaves elements
// unchanged that the matrix of tiles does not store.
func unpack[T kernels.Element](s *Process, call *versions.Call) error {
	x, t := call.Params.(*part), call.Args[0].(*kernels.Tile[T])
	a, err := array[T](s, x)
	if err != nil {
		return err
	}
	rows, cols, m, n := x.runs(x.Row, x.Col)
	if err := shaped(t, m, n); err != nil {
		return err
	}
	uplo := blocked.Kind(x.Kind).Uplo()
	if x.I != x.J {
		uplo = blas.All
	}
	ld := int(a.desc.LLD)
	row, col := indices(rows, m), indices(cols, n)
	each(rows, cols, func(i, j, local, column, m, n int) {
		to, from := a.local[column*ld+local:], t.Data[i*t.Stride+j:]
		if uplo == blas.All {
			transpose.Copy(to, ld, from, t.Stride, n, m)
			return
		}
		for k := range n {
			for l := range m {
				if uplo == blas.Lower && row[i+l] >= col[j+k] || uplo == blas.Upper && row[i+l] <= col[j+k] {
					to[k*ld+l] = from[l*t.Stride+k]
				}
			}
		}
	})
	return nil
}

// indices returns, for each of the n rows of a part, its row in the tile; likewise for columns.
func indices(runs []run, n int) []int {
	all := make([]int, 0, n)
	for _, r := range runs {
		for k := range r.n {
			all = append(all, r.lo+k)
		}
	}
	return all
}
