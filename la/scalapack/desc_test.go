package scalapack

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestCut: who has which row, and where, is what ScaLAPACK's INDXG2P and INDXG2L say, and
// NUMROC how many these are.
func TestCut(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		c := cut{n: r.IntN(60), block: 1 + r.IntN(9), processes: 1 + r.IntN(4)}
		c.source = r.IntN(c.processes)
		first := r.IntN(c.n + 1)
		n := r.IntN(c.n - first + 1)
		seen := make([]int, n)
		for k := range c.processes {
			if _, have := c.runs(0, c.n, k); have != c.share(k) {
				t.Fatalf("%+v: process %d has %d, and its share is %d", c, k, have, c.share(k))
			}
			runs, have := c.runs(first, n, k)
			for _, x := range runs {
				for d := range x.n {
					i := first + x.lo + d
					owner, local := (i/c.block+c.source)%c.processes, c.block*(i/(c.block*c.processes))+i%c.block
					if owner != k || local != x.local+d {
						t.Fatalf("%+v: row %d is %d of process %d, want %d of %d", c, i, x.local+d, k, local, owner)
					}
					seen[i-first]++
					have--
				}
			}
			if have != 0 {
				t.Fatalf("%+v: process %d: %d rows are in no run", c, k, have)
			}
		}
		for i, times := range seen {
			if times != 1 {
				t.Fatalf("%+v: row %d is there %d times", c, first+i, times)
			}
		}
	}
}

// TestDescErrors: all that is wrong is said at once.
func TestDescErrors(t *testing.T) {
	s, err := NewProcess(Grid{P: 2, Q: 2}, 3)
	if err != nil {
		t.Fatal(err)
	}
	good := Desc{Type: 1, M: 10, N: 9, MB: 3, NB: 4, LLD: 6}
	for _, c := range []struct {
		change func(*Desc)
		len    int
		want   []string
	}{
		{func(d *Desc) {}, 6*3 + 4, nil}, // rows 3, 4, 5 and 9; columns 4 to 7
		{func(d *Desc) {}, 6*3 + 3, []string{"21 elements, want at least 22"}},
		{func(d *Desc) { d.LLD = 3 }, 99, []string{"LLD_ is 3, want at least 4"}},
		{func(d *Desc) { d.Type, d.Context = 501, -1 }, 99, []string{"DTYPE_ is 501", "CTXT_ is -1"}},
		{func(d *Desc) { d.M, d.N, d.MB, d.NB = -1, -2, 0, 0 }, 99, []string{"M_ is -1", "N_ is -2", "MB_ is 0", "NB_ is 0"}},
		{func(d *Desc) { d.RSrc, d.CSrc = 2, -1 }, 99, []string{"RSRC_ is 2", "CSRC_ is -1"}},
	} {
		d := good
		c.change(&d)
		_, err := Share(s, "A", d, make([]float64, c.len))
		var wrong *DescError
		if errors.As(err, &wrong) != (c.want != nil) {
			t.Errorf("%+v: error %v", d, err)
			continue
		}
		for _, text := range c.want {
			if !strings.Contains(wrong.Reason, text) {
				t.Errorf("%+v: error %q does not say %q", d, wrong, text)
			}
		}
	}
	outside, err := NewProcess(Grid{P: 2, Q: 2}, 4)
	if err != nil {
		t.Fatal(err)
	}
	d := good
	d.Context, d.LLD = -1, 0
	if _, err := Share[float64](outside, "A", d, nil); err != nil {
		t.Errorf("a process outside of the grid: %v", err)
	}
	for _, g := range []Grid{{}, {P: 1}, {P: 1 << 19, Q: 3}} {
		if _, err := NewProcess(g, 0); !errors.As(err, new(*DescError)) {
			t.Errorf("%+v: error %v", g, err)
		}
	}
}
