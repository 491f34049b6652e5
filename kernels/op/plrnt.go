package op

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
)

// Plrnt is the parameter of op "plrnt" (PLASMA's core_plrnt and core_plgsy): a block of a
// random matrix, the same on every node, in tiles of any size,
//
//	a(i, j) = u(Seed, i, j) + (Bump if i = j),  -½ ≤ u < ½,
//
// where the first element of the tile is a(Row, Col). With Symmetric, u(Seed, i, j) =
// u(Seed, j, i); a Bump of more than half the order makes such a matrix positive definite,
// since it is then diagonally dominant.
//
// Operand: A (out).
type Plrnt struct {
	Seed      uint64
	Row, Col  int
	Bump      float64
	Symmetric bool
}

// Validate returns an error if a field is out of range.
func (p *Plrnt) Validate() error { return check("plrnt", p) }

// plrntOp defines op "plrnt".
func plrntOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:     versions.Op{Name: "plrnt", Work: elements[T](0), NewParams: fresh[Plrnt]},
		about:  "makes a tile of random numbers",
		copies: plrnt[T],
	}
}

// plrnt is the function of the version of op "plrnt".
func plrnt[T kernels.Element](call *versions.Call) error {
	p := params[Plrnt](call)
	a, _ := args[T](call, 1)
	for r := range a.Rows {
		for c, row := 0, a.Row(r); c < len(row); c++ {
			i, j := uint64(p.Row+r), uint64(p.Col+c)
			bump := 0.0
			if i == j {
				bump = p.Bump
			}
			if p.Symmetric {
				i, j = min(i, j), max(i, j)
			}
			row[c] = T(uniform(p.Seed, i, j) + bump)
		}
	}
	return nil
}

// uniform returns a number in [-½, ½) that depends on its arguments only: the counter
// based generator SplitMix64, with the place of the element as its counter.
func uniform(seed, i, j uint64) float64 {
	x := seed ^ (i+1)*0x9e3779b97f4a7c15 ^ (j+1)*0xd1b54a32d192ed03
	for range 2 {
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		x ^= x >> 31
	}
	return float64(x>>11)*0x1p-53 - 0.5
}
