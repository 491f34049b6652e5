package builtin

import (
	"sync/atomic"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/versions"
)

// lists is room for the list of a call's tiles and for interchanges.
type lists[T kernels.Element] struct {
	blocks []cpu.Block[T]
	swaps  []int
}

// lender lends out lists, so that they are not allocated anew each time: one at a
// time, others are made.
type lender[T kernels.Element] struct {
	spare atomic.Pointer[lists[T]]
}

// get returns lists of undefined contents.
func (l *lender[T]) get() *lists[T] {
	if x := l.spare.Swap(nil); x != nil {
		return x
	}
	return new(lists[T])
}

// put takes lists back.
func (l *lender[T]) put(x *lists[T]) {
	clear(x.blocks)
	l.spare.Store(x)
}

// panelDims returns the number of rows m of the tiles among args, of which
// there is at least one, and that of their columns, which is the same in all.
func panelDims[T kernels.Element](args []any) (m, n int) {
	if len(args) == 0 {
		panic(kernels.ErrArgs)
	}
	for i, arg := range args {
		t, ok := arg.(*kernels.Tile[T])
		if !ok {
			panic(kernels.ErrArgs)
		}
		if i == 0 {
			n = t.Cols
		}
		if t.Cols != n {
			panic(kernels.ErrShape)
		}
		m += t.Rows
	}
	return m, n
}

// blocks appends the tiles that args are to list.
func blocks[T kernels.Element](list []cpu.Block[T], args []any) []cpu.Block[T] {
	for _, arg := range args {
		list = appendBlock(list, arg.(*kernels.Tile[T]))
	}
	return list
}

func appendBlock[T kernels.Element](list []cpu.Block[T], t *kernels.Tile[T]) []cpu.Block[T] {
	return append(list, cpu.Block[T]{Rows: t.Rows, Stride: t.Stride, Data: t.Data})
}

// luArgs returns the operands of op "getrf" or "getrfnp", the tiles as they
// are in the call, and their dimensions.
func luArgs[T kernels.Element](call *versions.Call) (tiles []any, m, n int, piv *kernels.Pivots) {
	last := len(call.Args) - 1
	piv = operand[*kernels.Pivots](call, last)
	tiles = call.Args[:last]
	m, n = panelDims[T](tiles)
	if tiles[0].(*kernels.Tile[T]).Rows < min(m, n) {
		panic(kernels.ErrShape)
	}
	return tiles, m, n, piv
}

// info returns [Pivots.Info] for a panel with the given offset.
func info(offset, column int) int {
	if column == 0 {
		return 0
	}
	return offset + column
}

// getrf returns the function of a version of op "getrf".
func getrf[T kernels.Element](l *cpu.LU[T]) func(*versions.Call) error {
	lent := new(lender[T])
	return func(call *versions.Call) error {
		p := params[kernels.Getrf](call)
		tiles, m, n, piv := luArgs[T](call)
		x := lent.get()
		defer lent.put(x)
		x.blocks = blocks(x.blocks[:0], tiles)
		k := min(m, n)
		if cap(piv.Rows) < k {
			piv.Rows = make([]int, k)
		}
		piv.Rows = piv.Rows[:k]
		var zero int
		if call.Gang != nil && l.Parts(m, n) > 1 {
			zero = l.GetrfTall(n, x.blocks, piv.Rows, versions.Scratch[T](call.Work, l.TallWork(m, n)), crew[T](call))
		} else {
			zero = l.Getrf(n, x.blocks, piv.Rows, versions.Scratch[T](call.Work, l.Work(m, n)))
		}
		piv.Info = info(p.Offset, zero)
		return nil
	}
}

// getrfHelp returns how many units a call of op "getrf" makes use of: they stay, since
// they meet once a column.
func getrfHelp[T kernels.Element](l *cpu.LU[T]) func(*versions.Call) (units int, stay bool) {
	return func(call *versions.Call) (int, bool) {
		_, m, n, _ := luArgs[T](call)
		return l.Parts(m, n), true
	}
}

// getrfnp returns the function of a version of op "getrfnp".
func getrfnp[T kernels.Element](l *cpu.LU[T]) func(*versions.Call) error {
	lent := new(lender[T])
	return func(call *versions.Call) error {
		p := params[kernels.Getrfnp](call)
		tiles, m, n, piv := luArgs[T](call)
		x := lent.get()
		defer lent.put(x)
		x.blocks = blocks(x.blocks[:0], tiles)
		piv.Rows, piv.Info = piv.Rows[:0], info(p.Offset, l.Getrfnp(n, x.blocks, versions.Scratch[T](call.Work, l.Work(m, n))))
		return nil
	}
}

// getrfWork returns the work of the factorization.
func getrfWork[T kernels.Element](call *versions.Call) float64 {
	_, m, n, _ := luArgs[T](call)
	return getrfFlops(m, n)
}

// getrfFlops returns the multiplications and additions of an LU factorization,
//
//	2·Σ (m−j)·(n−j) = k·(2·m·n − (m + n)·(k − 1) + (k − 1)·(2·k − 1)/3)
//
// over j = 1 … k = min(m, n) up to terms of second order.
func getrfFlops(rows, cols int) float64 {
	m, n := float64(rows), float64(cols)
	k := min(m, n)
	return k * (2*m*n - (m+n)*(k-1) + (k-1)*(2*k-1)/3)
}

// laswp returns the function of a version of op "laswp".
func laswp[T kernels.Element](l *cpu.LU[T]) func(*versions.Call) error {
	lent := new(lender[T])
	return func(call *versions.Call) error {
		p := params[kernels.Laswp](call)
		tiles, m, n, piv := laswpArgs[T](call)
		if len(piv.Rows) > m {
			panic(kernels.ErrShape)
		}
		x := lent.get()
		defer lent.put(x)
		x.blocks = blocks(x.blocks[:0], tiles)
		l.Laswp(n, x.blocks, piv.Rows, p.Inverse)
		return nil
	}
}

// laswpArgs returns the operands of op "laswp".
func laswpArgs[T kernels.Element](call *versions.Call) (tiles []any, m, n int, piv *kernels.Pivots) {
	piv = operand[*kernels.Pivots](call, 0)
	tiles = call.Args[1:]
	m, n = panelDims[T](tiles)
	return tiles, m, n, piv
}

// laswpWork returns twice the elements of as many rows as the first tile has:
// as many move as a rule if it is square.
func laswpWork[T kernels.Element](call *versions.Call) float64 {
	tiles, _, n, _ := laswpArgs[T](call)
	return 2 * float64(tiles[0].(*kernels.Tile[T]).Rows) * float64(n)
}
