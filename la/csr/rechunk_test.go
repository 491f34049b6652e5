package csr_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/la/csr"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/mat"
)

// blocks returns the rows and bytes of each block.
func blocks(a *csr.Distributed) (all [][2]int64) {
	for b := range a.Blocks() {
		all = append(all, [2]int64{int64(a.Items(b)), a.Bytes(b)})
	}
	return all
}

// TestRechunk: blocks cut anew are those of Scatter, with the same entries. Of the matrix nothing
// goes through the driver, and between nodes no row more than once.
func TestRechunk(t *testing.T) {
	local := start(t, 2)
	d, _ := nodes(t, 2, false, nil, func(o *cluster.Options) { o.Owner, o.Stay = true, true })
	flows := func(names ...string) (n int64) {
		for _, u := range d.Usage() {
			for _, f := range u.Flows {
				if slices.Contains(names, f.Data) {
					n += f.Bytes
				}
			}
		}
		return n
	}
	for _, size := range [][3]int{{90, 60, 700}, {7, 4, 9}, {40, 3, 0}, {0, 3, -1}} {
		m, n := size[0], size[1]
		var is, js []int
		var vs []float64
		for k, v := range vector(max(size[2], 0), 5) { // the first rows have more
			is, js, vs = append(is, k*k%(1+m/(1+k%9))), append(js, (7*k+k/n)%n), append(vs, v)
		}
		here, err := csr.FromCOO(local, m, n, is, js, vs)
		if err != nil {
			t.Fatal(err)
		}
		x, want, unit := vector(n, 3), make([]float64, m), mat.NewDense(n, n, nil)
		for i := range n {
			unit.Set(i, i, 1)
		}
		var entries mat.Dense
		if err := errors.Join(here.MulVecTo(t.Context(), want, false, x), here.MulTo(t.Context(), &entries, unit)); err != nil {
			t.Fatal(err)
		}
		for _, rt := range []exec.Runtime{local, d} {
			for _, cut := range [][2]int{{1, 5}, {5, 1}, {2, 7}, {8, 3}, {4, 4}, {3, 0}, {3, math.MaxInt}, {math.MaxInt, 2}} {
				name := fmt.Sprintf("%d×%d, %T, %d blocks to %d", m, n, rt, cut[0], cut[1])
				a, err := csr.Scatter(t.Context(), rt, here, cut[0])
				if err != nil {
					t.Fatal(name, err)
				}
				like, err := csr.Scatter(t.Context(), rt, here, cut[1])
				if err != nil {
					t.Fatal(name, err)
				}
				before, all := moved(d, "A")+moved(d, "piece"), flows("A", "piece")
				b, err := a.Rechunk(t.Context(), cut[1])
				if err != nil {
					t.Fatal(name, err)
				}
				if n := moved(d, "A") + moved(d, "piece") - before; n != 0 {
					t.Errorf("%s: %d bytes went through the driver", name, n)
				}
				bytes := int64(0)
				for k := range b.Blocks() {
					bytes += b.Bytes(k) + 64 // a header, and one pointer more
				}
				if n := flows("A", "piece") - all; n > 2*bytes {
					t.Errorf("%s: %d bytes of %d went from node to node", name, n, bytes)
				}
				if !slices.Equal(blocks(b), blocks(like)) {
					t.Errorf("%s: blocks %v, want %v", name, blocks(b), blocks(like))
				}
				if err := a.Close(); err != nil {
					t.Error(err)
				}
				y, got := make([]float64, m), mat.Dense{}
				if err := errors.Join(b.MulVecTo(t.Context(), y, false, x), b.MulTo(t.Context(), &got, unit)); err != nil {
					t.Fatal(name, err)
				}
				if !slices.Equal(y, want) || m > 0 && !mat.Equal(&got, &entries) {
					t.Errorf("%s: other entries", name)
				}
				if err := errors.Join(b.Close(), like.Close()); err != nil {
					t.Error(err)
				}
				if fault := panicOf(func() { a.Rechunk(t.Context(), 1) }); fault != blocked.ErrReleased {
					t.Errorf("%s: after Close: %v", name, fault)
				}
			}
			a, err := csr.Scatter(t.Context(), rt, here, 2)
			if err != nil {
				t.Fatal(err)
			}
			var wrong *csr.StructureError
			if _, err := a.Rechunk(t.Context(), -1); !errors.As(err, &wrong) {
				t.Error(err)
			}
			a.Close()
		}
	}
}

// TestRechunkLost: what is lost with a node is made again from what the matrix was made from, also
// when that one was closed.
func TestRechunkLost(t *testing.T) {
	const side = 24
	made := &counts{}
	d, kill := nodes(t, 3, false, func(node string) []*versions.Op { return []*versions.Op{gridOp(node, made)} },
		func(o *cluster.Options) { o.Owner = true })
	a, here := generate(t, d, side, 6, made)
	b, err := a.Rechunk(t.Context(), 4)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	x, y, want := vector(side*side, 1), make([]float64, side*side), make([]float64, side*side)
	kill[b.Locate(d)[2]-1]()
	for range 10000 { // until the driver has seen it
		if made.sum() > 6 {
			break
		}
		if err := b.MulVecTo(t.Context(), y, false, x); err != nil {
			t.Fatal(err)
		}
	}
	if err := here.MulVecTo(t.Context(), want, false, x); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(y, want) {
		t.Error("other bits")
	}
}
