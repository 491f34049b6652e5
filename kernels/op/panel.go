package op

import (
	"sync/atomic"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/versions"
)

// lists holds the tiles of a call as blocks, and interchanges of rows.
type lists[T kernels.Element] struct {
	blocks []cpu.Block[T]
	swaps  []int
}

// listCache keeps one lists between calls, so that most calls allocate none.
type listCache[T kernels.Element] struct {
	spare atomic.Pointer[lists[T]]
}

// get returns lists of undefined content.
func (l *listCache[T]) get() *lists[T] {
	if x := l.spare.Swap(nil); x != nil {
		return x
	}
	return new(lists[T])
}

// put keeps x for a later call.
func (l *listCache[T]) put(x *lists[T]) {
	clear(x.blocks)
	l.spare.Store(x)
}

// panelDims returns the shape m×n of the panel of the tiles args. It panics unless there is at
// least one, all with the same number of columns.
func panelDims[T kernels.Element](args []any) (m, n int) {
	panicIf(len(args) == 0, kernels.ErrArgs)
	for i, arg := range args {
		t, ok := arg.(*kernels.Tile[T])
		panicIf(!ok, kernels.ErrArgs)
		if i == 0 {
			n = t.Cols
		}
		panicIf(t.Cols != n, kernels.ErrShape)
		m += t.Rows
	}
	return m, n
}

// blocks appends the tiles args to list.
func blocks[T kernels.Element](list []cpu.Block[T], args []any) []cpu.Block[T] {
	for _, arg := range args {
		list = appendBlock(list, arg.(*kernels.Tile[T]))
	}
	return list
}

// appendBlock appends t to list.
func appendBlock[T kernels.Element](list []cpu.Block[T], t *kernels.Tile[T]) []cpu.Block[T] {
	return append(list, cpu.Block[T]{Rows: t.Rows, Stride: t.Stride, Data: t.Data})
}

// luArgs returns the operands of op "getrf" or "getrfnp", and the shape of the panel.
func luArgs[T kernels.Element](call *versions.Call) (tiles []any, m, n int, piv *kernels.Pivots) {
	last := len(call.Args) - 1
	piv = operand[*kernels.Pivots](call, last)
	tiles = call.Args[:last]
	m, n = panelDims[T](tiles)
	panicIf(tiles[0].(*kernels.Tile[T]).Rows < min(m, n), kernels.ErrShape)
	return tiles, m, n, piv
}

// info returns [kernels.Pivots.Info] for a panel whose first column is offset. column is the number,
// from 1, of the column of the panel without a pivot, or 0.
func info(offset, column int) int {
	if column == 0 {
		return 0
	}
	return offset + column
}
