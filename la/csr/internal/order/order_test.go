package order_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/la/csr/internal/order"
)

// graph returns the graph with these edges, which may repeat.
func graph(n int, edges [][2]int) *order.Graph {
	rows := make([][]int32, n)
	for _, e := range edges {
		if i, j := e[0], e[1]; i != j {
			rows[i], rows[j] = append(rows[i], int32(j)), append(rows[j], int32(i))
		}
	}
	g := &order.Graph{Ptr: []int{0}}
	for _, r := range rows {
		slices.Sort(r)
		g.Adj = append(g.Adj, slices.Compact(r)...)
		g.Ptr = append(g.Ptr, len(g.Adj))
	}
	return g
}

// grid returns the graph of the Laplacian on a grid of x×y×z points.
func grid(x, y, z int) *order.Graph {
	var edges [][2]int
	for k := range z {
		for j := range y {
			for i := range x {
				at := (k*y+j)*x + i
				if i+1 < x {
					edges = append(edges, [2]int{at, at + 1})
				}
				if j+1 < y {
					edges = append(edges, [2]int{at, at + x})
				}
				if k+1 < z {
					edges = append(edges, [2]int{at, at + x*y})
				}
			}
		}
	}
	return graph(x*y*z, edges)
}

// arrow returns a graph whose first row is full.
func arrow(n int) *order.Graph {
	var edges [][2]int
	for i := range n {
		edges = append(edges, [2]int{0, i})
	}
	return graph(n, edges)
}

// stars returns the edges of stars of 30 rows, which no matching makes much coarser.
func stars() (edges [][2]int) {
	for i := range 900 {
		edges = append(edges, [2]int{i, i / 30 * 30}, [2]int{i / 30 * 30, i / 300 * 300})
	}
	return edges
}

// random returns a graph with about so many edges.
func random(n, edges int, seed uint64) *order.Graph {
	rnd := rand.New(rand.NewPCG(seed, 7))
	list := make([][2]int, edges)
	for k := range list {
		list[k] = [2]int{rnd.IntN(n), rnd.IntN(n)}
	}
	return graph(n, list)
}

// graphs returns small ones of all kinds.
func graphs() map[string]*order.Graph {
	all := map[string]*order.Graph{
		"none": graph(0, nil), "one": graph(1, nil), "two": graph(2, [][2]int{{0, 1}}), "no edges": graph(9, nil),
		"path": grid(40, 1, 1), "long path": grid(700, 1, 1), "larger 2-D": grid(40, 30, 1), "larger random": random(500, 700, 3), "stars": graph(900, stars()), "2-D": grid(13, 11, 1), "3-D": grid(6, 5, 7), "arrow": arrow(60), "full": random(20, 4000, 1),
		"two parts": graph(6, [][2]int{{0, 3}, {3, 5}, {1, 2}, {2, 4}, {4, 1}}),
	}
	for seed := range uint64(40) {
		n := 2 + int(seed*7)%90
		all[fmt.Sprint("random ", seed)] = random(n, n*(1+int(seed%5)), seed)
	}
	return all
}

// factor returns the columns of the factor of a graph in an order, by elimination.
func factor(g *order.Graph, p []int32) [][]int32 {
	inverse, _ := order.Inverse(p)
	columns := make([]map[int32]bool, len(p))
	for k := range p {
		columns[k] = map[int32]bool{int32(k): true}
		for _, j := range g.Row(p[k]) {
			if i := inverse[j]; int(i) > k {
				columns[k][i] = true
			}
		}
	}
	all := make([][]int32, len(p))
	for k, c := range columns {
		for i := range c {
			all[k] = append(all[k], i)
		}
		slices.Sort(all[k])
		if len(all[k]) > 1 {
			for _, i := range all[k][1:] {
				columns[all[k][1]][i] = true
			}
		}
	}
	return all
}

// entries returns the number of entries of a factor.
func entries(columns [][]int32) (n int) {
	for _, c := range columns {
		n += len(c)
	}
	return n
}

// orders returns the orders of a graph, by their names.
func orders(g *order.Graph) map[string][]int32 {
	backwards := func(n int, do func(int)) error {
		for k := n - 1; k >= 0; k-- {
			do(k)
		}
		return nil
	}
	nested, err := order.NestedDissection(g, backwards)
	if err != nil {
		panic(err)
	}
	return map[string][]int32{"natural": order.Natural(g.N()), "AMD": order.AMD(g), "nested dissection": nested}
}

// TestOrders: every order is a permutation, and the same one each time; none fills much more than no order.
func TestOrders(t *testing.T) {
	for name, g := range graphs() {
		natural := entries(factor(g, order.Natural(g.N())))
		again := orders(g)
		for by, p := range orders(g) {
			if _, ok := order.Inverse(p); !ok || len(p) != g.N() {
				t.Fatalf("%s: %s is no permutation: %v", name, by, p)
			}
			if !slices.Equal(p, again[by]) {
				t.Errorf("%s: %s differs from one call to the next", name, by)
			}
			limit := natural + natural/8
			if by == "nested dissection" {
				limit = 3 * natural / 2 // separators of a path fill
			}
			if n := entries(factor(g, p)); n > limit {
				t.Errorf("%s: %s has %d entries in the factor, no order %d", name, by, n, natural)
			}
		}
	}
}

// TestTree: tree, postorder and counts against an elimination.
func TestTree(t *testing.T) {
	for name, g := range graphs() {
		for by, p := range orders(g) {
			inverse, _ := order.Inverse(p)
			parent := order.Tree(g, p, inverse)
			for k, c := range factor(g, p) {
				want := int32(-1)
				if len(c) > 1 {
					want = c[1]
				}
				if parent[k] != want {
					t.Fatalf("%s, %s: the parent of %d is %d, want %d", name, by, k, parent[k], want)
				}
			}
			post := order.Postorder(parent)
			at, ok := order.Inverse(post)
			if !ok {
				t.Fatalf("%s, %s: %v is no postorder", name, by, post)
			}
			q, up := make([]int32, len(p)), make([]int32, len(p))
			for k, i := range post {
				q[k], up[k] = p[i], -1
				if parent[i] >= 0 {
					up[k] = at[parent[i]]
				}
				if up[k] >= 0 && int(up[k]) <= k {
					t.Fatalf("%s, %s: %d comes before its child", name, by, up[k])
				}
			}
			inverse, _ = order.Inverse(q)
			counts := order.Counts(g, q, inverse, up)
			for k, c := range factor(g, q) {
				if int(counts[k]) != len(c) {
					t.Fatalf("%s, %s: column %d has %d entries, counted %d", name, by, k, len(c), counts[k])
				}
			}
		}
	}
}

// count returns the number of entries of a factor.
func count(g *order.Graph, p []int32) (n int) {
	inverse, _ := order.Inverse(p)
	tree := order.Tree(g, p, inverse)
	post := order.Postorder(tree)
	at, _ := order.Inverse(post)
	q, parent := make([]int32, len(p)), make([]int32, len(p))
	for k, i := range post {
		q[k], parent[k] = p[i], -1
		if tree[i] >= 0 {
			parent[k] = at[tree[i]]
		}
	}
	inverse, _ = order.Inverse(q)
	for _, c := range order.Counts(g, q, inverse, parent) {
		n += int(c)
	}
	return n
}

// TestAMD: AMD fills no more than CHOLMOD's. The entries of the factor are those that CHOLMOD 3.0.14 counts with its AMD.
func TestAMD(t *testing.T) {
	for _, c := range []struct {
		x, y, z, entries int
	}{{300, 300, 1, 2928059}, {30, 30, 30, 5605774}} {
		g := grid(c.x, c.y, c.z)
		if got := count(g, order.AMD(g)); got > c.entries+c.entries/50 {
			t.Errorf("%d×%d×%d: %d entries, CHOLMOD's AMD has %d", c.x, c.y, c.z, got, c.entries)
		}
	}
}

// TestNestedDissection: nested dissection fills less than METIS. The entries of the factor are those that CHOLMOD 3.0.14
// counts with METIS 5.1.0.
func TestNestedDissection(t *testing.T) {
	for _, c := range []struct {
		x, y, z, entries int
	}{{150, 150, 1, 490124}, {30, 30, 30, 4127709}} {
		g := grid(c.x, c.y, c.z)
		if got := count(g, orders(g)["nested dissection"]); got > c.entries {
			t.Errorf("%d×%d×%d: %d entries, METIS has %d", c.x, c.y, c.z, got, c.entries)
		}
	}
	// Rows with many entries come last, and no order needs a separator.
	g := arrow(5000)
	if p := orders(g)["nested dissection"]; p[4999] != 0 {
		t.Errorf("the full row is not the last one, but %d", p[4999])
	}
	failed := errors.New("failed")
	if _, err := order.NestedDissection(g, func(int, func(int)) error { return failed }); err != failed {
		t.Error(err)
	}
}
