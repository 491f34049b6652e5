package blocked

import (
	"github.com/tessera-la/tessera/blocked/internal/submit"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
)

// Plrnt submits tasks that overwrite A with random numbers, each tile on its owner:
//
//	a(i, j) = u(seed, i, j) + (bump if i = j),  -½ ≤ u < ½.
//
// The numbers do not depend on the tile size or the nodes. A symmetric A with a bump of at least its
// order is positive definite. The whole diagonal tiles of a triangular A are overwritten.
//
// Reference: PLASMA's plasma_dplrnt and plasma_dplghe.
func (p *Program[T]) Plrnt(a *Matrix[T], seed uint64, bump float64) error {
	o := p.tasks.Operand(a)
	symmetric := a.Kind().Symmetric()
	for i, j := range a.StoredTiles() {
		p.tasks.Submit(p.tasks.Op("plrnt"), &op.Plrnt{Seed: seed, Row: i * a.NB(), Col: j * a.NB(), Bump: bump, Symmetric: symmetric}, 0, submit.Out(o.Tile(i, j)))
	}
	return p.tasks.Err
}

// Generate submits a task of an op of the program for each stored tile of A. The parameter of the
// task for tile (i, j), whose first element is a(i·nb, j·nb), is the result of params(i, j). The tile
// is the task's only operand, and the task overwrites it.
func (p *Program[T]) Generate(a *Matrix[T], op *versions.Op, params func(i, j int) any) error {
	o := p.tasks.Operand(a)
	for i, j := range a.StoredTiles() {
		p.tasks.Submit(op, params(i, j), 0, submit.Out(o.Tile(i, j)))
	}
	return p.tasks.Err
}

// Inspect is [Program.Generate] for an op that reads the tile instead of writing it.
func (p *Program[T]) Inspect(a *Matrix[T], op *versions.Op, params func(i, j int) any) error {
	o := p.tasks.Reads(a)
	for i, j := range a.StoredTiles() {
		p.tasks.Submit(op, params(i, j), 0, submit.In(o.Tile(i, j)))
	}
	return p.tasks.Err
}
