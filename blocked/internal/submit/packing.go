package submit

import (
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels"
)

// PackFrom is the tile size from which tasks share packed operands. Products of smaller
// tiles read operands where they lie, or take less time than sharing does.
const PackFrom = 160

// stepPackings holds the packed operands of the products of one step of a factorization: the
// left ones by the tile row of the product, the right ones by its tile column, both from
// tile first on. A nil *stepPackings shares nothing.
type stepPackings struct {
	first       int
	left, right []kernels.Packing
	pairs       []kernels.Packings // for the next tasks
}

// ShareStep returns what the products of step k of a share. lefts and rights return how
// many tasks read the operand of a tile row or of a tile column.
func (p *Tasks[T]) ShareStep(a *Operand[T], k int, lefts, rights func(i int) int) *stepPackings {
	rows, cols := a.MT()-k-1, a.NT()-k-1
	if a.NB() < PackFrom || rows < 1 || cols < 1 {
		return nil
	}
	room := p.packingRoom(a.Matrix)
	all := make([]kernels.Packing, rows+cols)
	x := &stepPackings{first: k + 1, left: all[:rows], right: all[rows:]}
	for i := range x.left {
		x.left[i].Init(room, lefts(k+1+i))
	}
	for j := range x.right {
		x.right[j].Init(room, rights(k+1+j))
	}
	return x
}

// packingRoom returns the room for packed operands. By default it is a quarter of the memory
// of a Full matrix of a's shape, and at least 64 MiB.
func (p *Tasks[T]) packingRoom(a *tiles.Matrix[T]) *kernels.PackingRoom {
	const least = 64 << 20
	if p.Room == nil {
		p.Room = kernels.NewPackingRoom(max(least, int64(a.Rows())*int64(a.Cols())*int64(scalar.Size[T]())/4))
	}
	return p.Room
}

// For returns what the product in tile row i and column j shares with other tasks: a *kernels.Packings, or nil.
func (x *stepPackings) For(i, j int) any {
	if x == nil {
		return nil
	}
	if len(x.pairs) == 0 {
		x.pairs = make([]kernels.Packings, 64) // an allocation for so many tasks
	}
	p := &x.pairs[0]
	x.pairs = x.pairs[1:]
	p.A, p.B = &x.left[i-x.first], &x.right[j-x.first]
	return p
}

// ShareLeft returns the *kernels.Packings through which readers tasks share the packed form of one left
// operand, a tile of a. It returns nil if they should read the tile where it lies.
func (p *Tasks[T]) ShareLeft(a *tiles.Matrix[T], readers int) any {
	if a.NB() < PackFrom || readers < 2 {
		return nil
	}
	pack := &kernels.Packing{}
	pack.Init(p.packingRoom(a), readers)
	return &kernels.Packings{A: pack}
}
