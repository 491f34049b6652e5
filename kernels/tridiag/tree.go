package tridiag

import "github.com/tessera-la/tessera/internal/scalar"

// Tree divides the rows of a problem for divide and conquer. It depends on the arguments of [Divide] alone.
type Tree[T scalar.Real] struct {
	levels [][]Node // all rows first
	leaves []Node
}

// Node is rows Lo to Hi−1, which are torn at row Cut. In a leaf, Cut is Hi.
type Node struct{ Lo, Cut, Hi int }

// Divide returns the tree of n rows, with leaves of at most leaf rows. The second part of a node begins torn rows
// behind Cut.
func Divide[T scalar.Real](n, leaf, torn int) (t Tree[T]) {
	var grow func(lo, hi, level int)
	grow = func(lo, hi, level int) {
		if hi-lo <= leaf {
			t.leaves = append(t.leaves, Node{lo, hi, hi})
			return
		}
		if level == len(t.levels) {
			t.levels = append(t.levels, nil)
		}
		cut := lo + (hi-lo)/2
		t.levels[level] = append(t.levels[level], Node{lo, cut, hi})
		grow(lo, cut, level+1)
		grow(cut+torn, hi, level+1)
	}
	grow(0, n, 0)
	return t
}

// Solve calls solve for each leaf, and returns the error of the first one that failed.
func (t *Tree[T]) Solve(crew Crew[T], solve func(leaf Node) error) error {
	errs := make([]error, len(t.leaves))
	crew(len(t.leaves), 0, func(i, _ int, _ []T) { errs[i] = solve(t.leaves[i]) })
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// abreast is the least number of merges in a level for which each unit works on a merge of its own. With fewer, all
// units work together on one merge after the other.
const abreast = 4

// Merge calls merge for each node with two parts, level by level from below; root says that it is the last one. work
// returns the elements of scratch that a part of a merge needs, by the order of the merge. stop is that of [Tools].
func (t *Tree[T]) Merge(crew Crew[T], stop func() error, work func(order int) int, merge func(part Node, root bool,
	crew Crew[T])) error {
	goOn := func() error {
		if stop == nil {
			return nil
		}
		return stop()
	}
	for depth := len(t.levels) - 1; depth >= 0; depth-- {
		level := t.levels[depth]
		if len(level) < abreast {
			for _, part := range level {
				if err := goOn(); err != nil {
					return err
				}
				merge(part, depth == 0, crew)
			}
			continue
		}
		if err := goOn(); err != nil {
			return err
		}
		largest := 0
		for _, part := range level {
			largest = max(largest, part.Hi-part.Lo)
		}
		crew(len(level), work(largest), func(i, _ int, scratch []T) { merge(level[i], depth == 0, Alone(scratch)) })
	}
	return nil
}
