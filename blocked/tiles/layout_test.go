package tiles_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/blocked/tiles"

	"github.com/tessera-la/tessera/blocked/internal/blockedtest"
)

func TestBlockCyclic(t *testing.T) {
	for _, test := range []struct {
		b    tiles.BlockCyclic
		want [3][4]int
	}{
		{tiles.BlockCyclic{}, [3][4]int{}},
		{tiles.BlockCyclic{P: 2, Q: 3}, [3][4]int{{0, 1, 2, 0}, {3, 4, 5, 3}, {0, 1, 2, 0}}},
		{tiles.BlockCyclic{P: 2, Q: 3, RowSource: 1, ColSource: 2}, [3][4]int{{5, 3, 4, 5}, {2, 0, 1, 2}, {5, 3, 4, 5}}},
		{tiles.BlockCyclic{P: 3}, [3][4]int{{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}}},
	} {
		a := tiles.New[float64](tiles.Full, 9, 12, 3)
		if err := a.SetLayout(test.b, test.b.Processes()); err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			for j := range 4 {
				if got := a.Owner(i, j); got != test.want[i][j] {
					t.Errorf("%+v: owner of (%d, %d) is %d, want %d", test.b, i, j, got, test.want[i][j])
				}
			}
		}
	}
}

// The owners of a block-cyclic layout by ScaLAPACK's NUMROC: each process has
// as many rows of elements as that says.
func TestBlockCyclicNumroc(t *testing.T) {
	for _, m := range []int{0, 1, 9, 10, 11, 50} {
		for p := 1; p <= 4; p++ {
			for source := range p {
				const nb = 3
				a := tiles.New[float32](tiles.Full, m, 1, nb)
				if err := a.SetLayout(tiles.BlockCyclic{P: p, RowSource: source}, p); err != nil {
					t.Fatal(err)
				}
				rows := make([]int, p)
				for i := range (m + nb - 1) / nb {
					r, _ := a.TileDims(i, 0)
					rows[a.Owner(i, 0)] += r
				}
				for proc := range p {
					if want := numroc(m, nb, proc, source, p); rows[proc] != want {
						t.Errorf("m %d, p %d, source %d: process %d has %d rows, want %d", m, p, source, proc, rows[proc], want)
					}
				}
			}
		}
	}
}

// numroc is ScaLAPACK's TOOLS/numroc.f.
func numroc(n, nb, proc, source, procs int) int {
	dist := (procs + proc - source) % procs
	blocks := n / nb
	own := blocks / procs * nb
	switch extra := blocks % procs; {
	case dist < extra:
		own += nb
	case dist == extra:
		own += n % nb
	}
	return own
}

func TestSetLayout(t *testing.T) {
	a := tiles.New[float64](tiles.SymLower, 9, 9, 3)
	if a.Owner(1, 0) != 0 || a.Layout() != nil {
		t.Error("a new matrix has a layout")
	}
	asked := 0
	byColumn := tiles.LayoutFunc(func(i, j int) int {
		if i < j {
			t.Errorf("asked for (%d, %d), which is not stored", i, j)
		}
		asked++
		return j
	})
	if err := a.SetLayout(byColumn, 3); err != nil || asked != 6 {
		t.Fatalf("asked %d times, %v", asked, err)
	}
	if a.Owner(2, 1) != 1 {
		t.Error("owner", a.Owner(2, 1))
	}
	if got := blockedtest.Recovered(func() { a.Owner(0, 1) }); got != tiles.ErrNotStored {
		t.Error("panic", got)
	}
	if got := blockedtest.Recovered(func() { a.Owner(0, 3) }); got != tiles.ErrIndex {
		t.Error("panic", got)
	}
	var le *tiles.LayoutError
	if err := a.SetLayout(byColumn, 2); !errors.As(err, &le) || le.Row != 2 || le.Col != 2 || le.Owner != 2 {
		t.Error("an owner too many:", err)
	}
	if err := a.SetLayout(tiles.LayoutFunc(func(i, j int) int { return -1 }), 2); !errors.As(err, &le) {
		t.Error("a negative owner:", err)
	}
	if err := a.SetLayout(byColumn, 0); !errors.As(err, &le) {
		t.Error("no processes:", err)
	}
	err := a.SetLayout(tiles.BlockCyclic{P: -1, Q: 2, RowSource: 1, ColSource: -1}, 4)
	if !errors.As(err, &le) {
		t.Fatal("a wrong grid:", err)
	}
	for _, part := range []string{"grid", "source row", "source column"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not tell of the %s", err, part)
		}
	}
	if a.Owner(2, 1) != 1 {
		t.Error("an error took the layout away")
	}
	if c := a.Clone(); c.Owner(2, 1) != 1 {
		t.Error("the clone has no layout")
	}
	if err := a.SetLayout(nil, 0); err != nil || a.Owner(2, 1) != 0 {
		t.Error("layout not taken away:", err)
	}
}
