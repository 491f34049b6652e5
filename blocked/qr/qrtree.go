package qr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/internal/words"
)

// Tree is the reduction tree of the QR factorization of a column of tiles: the order
// in which [Geqrf] annihilates the tiles below the diagonal, and the tile against
// which it annihilates each. All trees are equally accurate. They differ in the
// length of the chain of tasks that depend on one another, and in how many tasks are
// of the faster kind.
type Tree uint8

// The trees. In the pictures the rows of a column of tiles are numbered from
// its diagonal, time goes from left to right, S is op "tsqrt" (a square tile is
// annihilated), T is op "ttqrt" (a triangle is annihilated), and every line
// begins with op "geqrt" unless its S comes first.
const (
	// TreeAuto is TreeDomains with a domain size chosen for each column. Domains are
	// as large as possible while the updates beside the column give all cores work.
	// In most of a square matrix that is the whole column; in a tall matrix each core
	// has its share of the column.
	TreeAuto Tree = iota
	// TreeFlat annihilates one tile after the other with the diagonal tile:
	//
	//	0 ─S─S─S─S─S─
	//	1 ─╯ │ │ │ │
	//	2 ───╯ │ │ │
	//	3 ─────╯ │ │
	//	4 ───────╯ │
	//	5 ─────────╯
	//
	// The fastest kernels, and the longest chain: good for square matrices.
	TreeFlat
	// TreeBinary reduces all tiles to triangles and then joins them in pairs:
	//
	//	0 ─T──T───T─
	//	1 ─╯  │   │
	//	2 ─T──╯   │
	//	3 ─╯      │
	//	4 ─T──────╯
	//	5 ─╯
	//
	// The shortest chain for one column.
	TreeBinary
	// TreeGreedy reduces all tiles to triangles. At every step it then pairs the
	// triangles that the columns before have left, from the bottom up, and annihilates
	// one of each pair. The shortest chain, or nearly so, for several columns.
	TreeGreedy
	// TreeDomains divides the column into domains of Domain tiles, reduces each domain
	// as TreeFlat does, and joins the domains as TreeBinary does:
	//
	//	0 ─S─S───T─
	//	1 ─╯ │   │
	//	2 ───╯   │
	//	3 ─S─S───╯
	//	4 ─╯ │
	//	5 ───╯
	TreeDomains
)

var trees = words.Of[Tree]{"auto", "flat", "binary", "greedy", "domains"}

func (t Tree) String() string { return trees.Name(t) }

// Trees returns all trees.
func Trees() []Tree { return trees.All() }

// ParseTree returns the tree called name, as String names it. The error for
// another name lists the known ones.
func ParseTree(name string) (Tree, error) {
	if i := slices.Index(trees, name); i >= 0 {
		return Tree(i), nil
	}
	return 0, fmt.Errorf("blocked: there is no tree %q; known are %s", name, strings.Join(trees, ", "))
}

// qrKind is one of the three things that happen to a tile of a column.
type qrKind uint8

const (
	qrTriangle qrKind = iota // geqrt: row becomes a triangle
	qrSquare                 // tsqrt: the square tile row is annihilated by pivot
	qrPair                   // ttqrt: the triangle row is annihilated by pivot
)

// qrStep is one rotation: pivot and row are tile rows, equal for qrTriangle.
type qrStep struct {
	kind       qrKind
	pivot, row int32
}

// qrPlan is the rotations of a factorization: for each of the first min(mt, nt)
// columns its steps, in an order in which they can be done.
type qrPlan struct {
	mt, nt  int
	columns [][]qrStep
}

// newQRPlan returns the plan for mt×nt tiles. A domain below 1 is chosen by the
// number of cores.
//
// References: A. Buttari et al., LAWN 191 (flat); J. Demmel et al., LAWN 204
// (binary); B. Hadri et al., LAWN 222 (domains); H. Bouwmeester et al., Tiled QR
// factorization algorithms, SC 2011 (greedy); J. Dongarra et al., Hierarchical
// QR factorization algorithms for multi-core cluster systems, Parallel
// Computing 39 (2013).
func newQRPlan(tree Tree, domain, mt, nt, cores int) *qrPlan {
	p := &qrPlan{mt: mt, nt: nt, columns: make([][]qrStep, min(mt, nt))}
	if tree == TreeGreedy {
		p.greedy()
		return p
	}
	for k := range p.columns {
		rows, size := mt-k, domain
		switch tree {
		case TreeFlat:
			size = rows
		case TreeBinary:
			size = 1
		case TreeAuto:
			size = autoDomain(mt, nt, k, cores)
		default:
			if size < 1 {
				size = tiles.Count(mt, max(1, cores))
			}
		}
		p.columns[k] = domains(k, mt, min(size, rows))
	}
	return p
}

// autoDomain returns the size of the domains of column k. As in PLASMA it is the
// number of tiles beside and below that are updated, divided by twice the cores. The
// chain of a domain then is no longer than the updates beside it. Where few tiles are
// updated, as at the right end, each core still gets a domain rather than a tile,
// since joining triangles costs more than annihilating tiles.
func autoDomain(mt, nt, k, cores int) int {
	cores = max(1, cores)
	if cores == 1 {
		return mt - k
	}
	return max((mt-k-1)*(min(mt, nt)-k-1)/(2*cores), tiles.Count(mt-k, cores))
}

// domains returns the steps of column k in domains of size tiles.
//
// Domains are counted from the diagonal, so their heads move down by one row from
// column to column. The head of a domain in the next column is the row that this
// column annihilates first, so the next column can begin while this one goes on.
func domains(k, mt, size int) []qrStep {
	steps := make([]qrStep, 0, mt-k+tiles.Count(mt-k, size))
	for head := k; head < mt; head += size {
		steps = append(steps, qrStep{qrTriangle, int32(head), int32(head)})
		for i := head + 1; i < min(head+size, mt); i++ {
			steps = append(steps, qrStep{qrSquare, int32(head), int32(i)})
		}
	}
	for gap := size; gap < mt-k; gap *= 2 {
		for head := k; head+gap < mt; head += 2 * gap {
			steps = append(steps, qrStep{qrPair, int32(head), int32(head + gap)})
		}
	}
	return steps
}

// greedy plans all columns in rounds. In a round, every column annihilates as many as
// possible of the triangles that it had at the beginning of the round. It takes the
// lowest ones, each against a row above that has no other task in the round. It also
// makes triangles of the rows that the column before it had annihilated.
func (p *qrPlan) greedy() {
	type progress struct{ triangles, zeros int } // counted from the bottom row
	now := make([]progress, len(p.columns))
	for k := range p.columns {
		p.columns[k] = make([]qrStep, 0, 2*(p.mt-k))
	}
	for left := len(now); left > 0; {
		next := append([]progress(nil), now...)
		for k := range now {
			rows := p.mt - k
			if now[k].zeros == rows-1 && now[k].triangles == rows {
				continue
			}
			for n := range (now[k].triangles - now[k].zeros) / 2 {
				row := p.mt - 1 - now[k].zeros - n
				pivot := row - (now[k].triangles-now[k].zeros)/2
				p.columns[k] = append(p.columns[k], qrStep{qrPair, int32(pivot), int32(row)})
				next[k].zeros++
			}
			ready := rows
			if k > 0 {
				ready = now[k-1].zeros
			}
			for ; next[k].triangles < ready; next[k].triangles++ {
				row := int32(p.mt - 1 - next[k].triangles)
				p.columns[k] = append(p.columns[k], qrStep{qrTriangle, row, row})
			}
			if next[k].zeros == rows-1 && next[k].triangles == rows {
				left--
			}
		}
		now = next
	}
}

// tasks returns the number of tasks of a factorization.
func (p *qrPlan) tasks() int {
	n := 0
	for k, steps := range p.columns {
		n += len(steps) * (p.nt - k)
	}
	return n
}

// qrWeights are the flops of the ops on square tiles in units of nb³/3: for a rotation
// itself, and for its application to a pair of tiles. See table 1 of Bouwmeester et
// al. (2011).
var qrWeights = [...]struct{ factor, update int32 }{
	qrTriangle: {4, 6}, qrSquare: {6, 12}, qrPair: {2, 6},
}

// priorities returns for each task, in the order of submission, the work on the
// longest path from it to the end of the graph. For each step of a column the rotation
// itself comes first, then its application to the columns on the right. priorities
// returns nil as soon as ended returns true.
func (p *qrPlan) priorities(ended func() bool) []int32 {
	all := make([]int32, p.tasks())
	// rest is, for each tile, the longest path from the next task that uses it. A task
	// waits only for the tasks that wrote its tiles before, and for the task that made
	// the rotation that it applies.
	rest := make([]int32, p.mt*p.nt)
	at := len(all)
	for k := len(p.columns) - 1; k >= 0; k-- {
		if ended() {
			return nil
		}
		for s := len(p.columns[k]) - 1; s >= 0; s-- {
			step := p.columns[k][s]
			w := qrWeights[step.kind]
			pivot, row := rest[int(step.pivot)*p.nt:][:p.nt], rest[int(step.row)*p.nt:][:p.nt]
			longest := max(pivot[k], row[k])
			at -= p.nt - k
			for j := k + 1; j < p.nt; j++ {
				path := w.update + max(pivot[j], row[j])
				pivot[j], row[j], all[at+j-k] = path, path, path
				longest = max(longest, path)
			}
			longest += w.factor
			pivot[k], row[k], all[at] = longest, longest, longest
		}
	}
	return all
}
