package qr

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestTreeNames(t *testing.T) {
	for _, tree := range Trees() {
		if got, err := ParseTree(tree.String()); err != nil || got != tree {
			t.Errorf("%v is parsed as %v, %v", tree, got, err)
		}
	}
	_, err := ParseTree("oak")
	for _, tree := range Trees() {
		if err == nil || !strings.Contains(err.Error(), tree.String()) {
			t.Errorf("%v does not name %v", err, tree)
		}
	}
	if s := Tree(77).String(); s != "Tree(77)" {
		t.Error(s)
	}
}

// plans calls f with plans of all trees for many shapes.
func plans(f func(what string, p *qrPlan)) {
	for _, tree := range Trees() {
		for _, s := range [][2]int{{0, 0}, {0, 3}, {3, 0}, {1, 1}, {1, 5}, {2, 1}, {2, 2}, {3, 2}, {5, 5}, {4, 9}, {16, 3}, {17, 1}, {23, 23}, {40, 2}, {33, 8}} {
			for _, domain := range []int{0, 1, 2, 5, 100} {
				if tree != TreeDomains && domain > 0 {
					continue
				}
				for _, cores := range []int{1, 2, 7, 64} {
					f(fmt.Sprintf("%v of %d, %d×%d, %d cores", tree, domain, s[0], s[1], cores), newQRPlan(tree, domain, s[0], s[1], cores))
				}
			}
		}
	}
}

// TestPlans checks that a plan leaves a triangle: every tile below the diagonal
// is annihilated once, by a triangle that is still there, with the op that fits
// what it is at that time.
func TestPlans(t *testing.T) {
	plans(func(what string, p *qrPlan) {
		if len(p.columns) != min(p.mt, p.nt) {
			t.Fatalf("%s: %d columns", what, len(p.columns))
		}
		for k, steps := range p.columns {
			triangle, zero := make([]bool, p.mt), make([]bool, p.mt)
			for _, s := range steps {
				i, pivot := int(s.row), int(s.pivot)
				if i < k || i >= p.mt || pivot < k || pivot > i || zero[i] {
					t.Fatalf("%s: column %d: %+v", what, k, s)
				}
				switch s.kind {
				case qrTriangle:
					if pivot != i || triangle[i] {
						t.Fatalf("%s: column %d: %+v", what, k, s)
					}
					triangle[i] = true
					continue
				case qrSquare:
					if triangle[i] {
						t.Fatalf("%s: column %d: %+v annihilates a triangle", what, k, s)
					}
				case qrPair:
					if !triangle[i] {
						t.Fatalf("%s: column %d: %+v annihilates a square", what, k, s)
					}
				}
				if pivot == i || !triangle[pivot] || zero[pivot] {
					t.Fatalf("%s: column %d: %+v has no triangle", what, k, s)
				}
				zero[i] = true
			}
			for i := k; i < p.mt; i++ {
				if zero[i] != (i > k) {
					t.Fatalf("%s: column %d: row %d is left", what, k, i)
				}
			}
			if !triangle[k] {
				t.Fatalf("%s: no triangle on diagonal %d", what, k)
			}
		}
	})
}

// TestPlanShapes checks what tells the trees apart.
func TestPlanShapes(t *testing.T) {
	pairs := func(p *qrPlan, kind qrKind) (n int) {
		for _, steps := range p.columns {
			for _, s := range steps {
				if s.kind == kind {
					n++
				}
			}
		}
		return n
	}
	const mt, nt = 12, 4
	below := 11 + 10 + 9 + 8
	for _, c := range []struct {
		tree            Tree
		domain, cores   int
		squares, joints int
	}{
		{TreeFlat, 3, 8, below, 0},
		{TreeBinary, 3, 8, 0, below},
		{TreeGreedy, 3, 8, 0, below},
		{TreeDomains, 1, 8, 0, below},
		{TreeDomains, 100, 8, below, 0},
		{TreeDomains, 6, 8, below - 4, 4},
		{TreeDomains, 0, 2, below - 4, 4},
		{TreeAuto, 0, 1, below, 0},
	} {
		p := newQRPlan(c.tree, c.domain, mt, nt, c.cores)
		if s, j := pairs(p, qrSquare), pairs(p, qrPair); s != c.squares || j != c.joints {
			t.Errorf("%v of %d for %d cores has %d squares and %d pairs, want %d and %d", c.tree, c.domain, c.cores, s, j, c.squares, c.joints)
		}
	}
	// The automatic tree is flat in the first columns of a square matrix, and
	// has a domain for each core in a single column.
	square := newQRPlan(TreeAuto, 0, 32, 32, 4)
	for _, s := range square.columns[0] {
		if s.kind == qrPair {
			t.Errorf("the first column of a square matrix has %+v", s)
		}
	}
	if n := pairs(newQRPlan(TreeAuto, 0, 256, 1, 4), qrPair); n != 3 {
		t.Errorf("a single column is joined by %d pairs, want 3", n)
	}
}

// depth returns the length of the longest path, in units of nb³/3 flops.
func (p *qrPlan) depth() int {
	long := 0
	for _, w := range p.priorities(func() bool { return false }) {
		long = max(long, int(w))
	}
	return long
}

// TestCriticalPaths compares the longest paths with the ones that are known.
func TestCriticalPaths(t *testing.T) {
	// One column: geqrt and a chain or a tree of kernels.
	for _, mt := range []int{2, 3, 8, 9, 100} {
		levels := 0
		for n := 1; n < mt; n *= 2 {
			levels++
		}
		for tree, want := range map[Tree]int{TreeFlat: 4 + 6*(mt-1), TreeBinary: 4 + 2*levels, TreeGreedy: 4 + 2*levels} {
			if got := newQRPlan(tree, 0, mt, 1, 2).depth(); got != want {
				t.Errorf("%v, %d tiles: %d, want %d", tree, mt, got, want)
			}
		}
	}
	// Bouwmeester et al., proposition 2: the path of the flat tree with op
	// "tsqrt" is 12·p + 18·q − 32 for p ≥ q ≥ 2, one less column for p = q, where
	// it is 30·p − 34.
	for _, s := range [][2]int{{3, 2}, {9, 4}, {40, 3}, {40, 40}, {2, 2}, {17, 17}} {
		mt, nt := s[0], s[1]
		want := 12*mt + 18*nt - 32
		if mt == nt {
			want = 30*mt - 34
		}
		if got := newQRPlan(TreeFlat, 0, mt, nt, 2).depth(); got != want {
			t.Errorf("flat, %d×%d: %d, want %d", mt, nt, got, want)
		}
	}
	// Greedy is shorter than flat for tall matrices, and not longer than binary.
	for _, s := range [][2]int{{16, 4}, {40, 5}, {40, 10}, {128, 8}} {
		greedy := newQRPlan(TreeGreedy, 0, s[0], s[1], 2).depth()
		if flat := newQRPlan(TreeFlat, 0, s[0], s[1], 2).depth(); greedy >= flat {
			t.Errorf("%v: greedy %d, flat %d", s, greedy, flat)
		}
		if binary := newQRPlan(TreeBinary, 0, s[0], s[1], 2).depth(); greedy > binary {
			t.Errorf("%v: greedy %d, binary %d", s, greedy, binary)
		}
	}
}

// TestPriorities checks that every task is more urgent than those that wait
// for it, by the definition: a task that reads a tile waits for the task that wrote it last.
func TestPriorities(t *testing.T) {
	plans(func(what string, p *qrPlan) {
		all := p.priorities(func() bool { return false })
		if len(all) != p.tasks() {
			t.Fatalf("%s: %d priorities of %d tasks", what, len(all), p.tasks())
		}
		writer := make([]int32, p.mt*p.nt) // priority of the last task, 0 if none
		use := func(at int, tiles ...int) {
			for _, x := range tiles {
				if w := writer[x]; w != 0 && w <= all[at] {
					t.Fatalf("%s: task %d of priority %d waits for one of %d", what, at, all[at], w)
				}
			}
			for _, x := range tiles {
				writer[x] = all[at]
			}
		}
		at := 0
		for k, steps := range p.columns {
			for _, s := range steps {
				i, j := int(s.pivot)*p.nt, int(s.row)*p.nt
				rotation := all[at]
				use(at, i+k, j+k)
				at++
				for c := k + 1; c < p.nt; c++ {
					if all[at] >= rotation {
						t.Fatalf("%s: an application is as urgent as its rotation", what)
					}
					use(at, i+c, j+c)
					at++
				}
			}
		}
		if at > 0 && slices.Min(all) < 1 {
			t.Fatalf("%s: a task without priority", what)
		}
	})
}
