package op

import (
	"encoding/binary"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/versions"
)

// Small products and solutions go to a device in batches, by the libraries' routines for many
// matrices of one shape. For syrk and potrf there are none, or none that is faster for tiles.

// layout determines the leading dimension of an operand on a device. An operand must have the same
// layout in all calls of a batch.
type layout struct{ cols, stride int }

// layoutOf returns the layout of t.
func layoutOf[T kernels.Element](t *kernels.Tile[T]) layout { return layout{t.Cols, t.Stride} }

// operandTables uploads the device addresses of the n operands of each call, and returns a table
// for each operand. It panics with [ErrShape] if the leading dimensions of an operand differ
// between calls.
func operandTables[T kernels.Element](q queue[T], calls []*versions.Call, n int) ([]cuda.Matrices, error) {
	all := make([]cuda.Matrices, n)
	var addresses []byte
	for i := range all {
		for k, call := range calls {
			m := queueOf[T](call).matrixOf(i)
			panicIf(k > 0 && m.Ld != all[i].Ld, kernels.ErrShape)
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
func (q queue[T]) matrixOf(i int) cuda.Matrix { return q.columnMajor(q.operand(i)) }
