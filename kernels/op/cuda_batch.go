package op

import (
	"encoding/binary"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/versions"
)

// Small products and solutions go to a device together: the libraries have
// routines for many matrices of one shape. Those for syrk and potrf they have not,
// or they are no faster for what tiles are.

// layout is what must be the same of operands for their leading dimensions on a
// device to be: that depends on what they are on the host.
type layout struct{ cols, stride int }

func layoutOf[T kernels.Element](t *kernels.Tile[T]) layout { return layout{t.Cols, t.Stride} }

// tables uploads where the operands of calls are, of which each has n, and returns
// a table for each operand. It panics with [ErrShape] if the leading dimensions
// differ.
func tables[T kernels.Element](q queue[T], calls []*versions.Call, n int) ([]cuda.Matrices, error) {
	all := make([]cuda.Matrices, n)
	var addresses []byte
	for i := range all {
		for k, call := range calls {
			m := queueOf[T](call).matrixOf(i)
			if k > 0 && m.Ld != all[i].Ld {
				panic(kernels.ErrShape)
			}
			all[i].Ld = m.Ld
			addresses = binary.LittleEndian.AppendUint64(addresses, uint64(m.Data))
		}
	}
	p, err := q.Upload(addresses)
	for i := range all {
		all[i].Table = p + cuda.Ptr(8*i*len(calls))
	}
	return all, err
}

// matrixOf returns the transpose of Call.Args[i].
func (q queue[T]) matrixOf(i int) cuda.Matrix { return q.turned(q.operand(i)) }
