package kernels

import (
	"sync/atomic"

	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/versions"
)

// blockList lends out room for the list of a call's tiles, so that it is not
// allocated anew each time: one list at a time, others are made.
type blockList[T Element] struct {
	spare atomic.Pointer[[]cpu.Block[T]]
}

// get returns an empty list.
func (l *blockList[T]) get() *[]cpu.Block[T] {
	if b := l.spare.Swap(nil); b != nil {
		return b
	}
	return new([]cpu.Block[T])
}

// put takes a list back.
func (l *blockList[T]) put(b *[]cpu.Block[T]) {
	clear(*b)
	*b = (*b)[:0]
	l.spare.Store(b)
}

// panelDims returns the number of rows m of the tiles among args, of which
// there is at least one, and that of their columns, which is the same in all.
func panelDims[T Element](args []any) (m, n int) {
	if len(args) == 0 {
		panic(ErrArgs)
	}
	for i, arg := range args {
		t, ok := arg.(*Tile[T])
		if !ok {
			panic(ErrArgs)
		}
		if i == 0 {
			n = t.Cols
		}
		if t.Cols != n {
			panic(ErrShape)
		}
		m += t.Rows
	}
	return m, n
}

// blocks appends the tiles that args are to list.
func blocks[T Element](list []cpu.Block[T], args []any) []cpu.Block[T] {
	for _, arg := range args {
		t := arg.(*Tile[T])
		list = append(list, cpu.Block[T]{Rows: t.Rows, Stride: t.Stride, Data: t.Data})
	}
	return list
}

// luArgs returns the operands of op "getrf" or "getrfnp", the tiles as they
// are in the call, and their dimensions.
func luArgs[T Element](call *versions.Call) (tiles []any, m, n int, piv *Pivots) {
	last := len(call.Args) - 1
	if last < 1 {
		panic(ErrArgs)
	}
	piv, ok := call.Args[last].(*Pivots)
	if !ok {
		panic(ErrArgs)
	}
	tiles = call.Args[:last]
	m, n = panelDims[T](tiles)
	if tiles[0].(*Tile[T]).Rows < min(m, n) {
		panic(ErrShape)
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
func getrf[T Element](l *cpu.LU[T]) func(*versions.Call) error {
	lists := new(blockList[T])
	return func(call *versions.Call) error {
		p := params[Getrf](call)
		tiles, m, n, piv := luArgs[T](call)
		a := lists.get()
		defer lists.put(a)
		*a = blocks(*a, tiles)
		k := min(m, n)
		if cap(piv.Rows) < k {
			piv.Rows = make([]int, k)
		}
		piv.Rows = piv.Rows[:k]
		var zero int
		if call.Gang != nil && l.Parts(m, n) > 1 {
			zero = l.GetrfTall(n, *a, piv.Rows, versions.Scratch[T](call.Work, l.TallWork(m, n)), crew[T](call))
		} else {
			zero = l.Getrf(n, *a, piv.Rows, versions.Scratch[T](call.Work, l.Work(m, n)))
		}
		piv.Info = info(p.Offset, zero)
		return nil
	}
}

// getrfShare returns how many units a call of op "getrf" makes use of.
func getrfShare[T Element](l *cpu.LU[T]) func(*versions.Call) int {
	return func(call *versions.Call) int {
		_, m, n, _ := luArgs[T](call)
		return l.Parts(m, n)
	}
}

// getrfnp returns the function of a version of op "getrfnp".
func getrfnp[T Element](l *cpu.LU[T]) func(*versions.Call) error {
	lists := new(blockList[T])
	return func(call *versions.Call) error {
		p := params[Getrfnp](call)
		tiles, m, n, piv := luArgs[T](call)
		a := lists.get()
		defer lists.put(a)
		*a = blocks(*a, tiles)
		piv.Info = info(p.Offset, l.Getrfnp(n, *a, versions.Scratch[T](call.Work, l.Work(m, n))))
		return nil
	}
}

// getrfWork returns the work of the factorization.
func getrfWork[T Element](call *versions.Call) float64 {
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
func laswp[T Element](l *cpu.LU[T]) func(*versions.Call) error {
	lists := new(blockList[T])
	return func(call *versions.Call) error {
		p := params[Laswp](call)
		tiles, m, n, piv := laswpArgs[T](call)
		if len(piv.Rows) > m {
			panic(ErrShape)
		}
		b := lists.get()
		defer lists.put(b)
		*b = blocks(*b, tiles)
		l.Laswp(n, *b, piv.Rows, p.Inverse)
		return nil
	}
}

// laswpArgs returns the operands of op "laswp".
func laswpArgs[T Element](call *versions.Call) (tiles []any, m, n int, piv *Pivots) {
	if len(call.Args) < 2 {
		panic(ErrArgs)
	}
	piv, ok := call.Args[0].(*Pivots)
	if !ok {
		panic(ErrArgs)
	}
	tiles = call.Args[1:]
	m, n = panelDims[T](tiles)
	return tiles, m, n, piv
}

// laswpWork returns twice the elements of as many rows as the first tile has:
// as many move as a rule if it is square.
func laswpWork[T Element](call *versions.Call) float64 {
	tiles, _, n, _ := laswpArgs[T](call)
	return 2 * float64(tiles[0].(*Tile[T]).Rows) * float64(n)
}
