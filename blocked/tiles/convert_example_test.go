package tiles_test

import (
	"fmt"

	"github.com/tessera-la/tessera/blocked/tiles"
	"gonum.org/v1/gonum/mat"
)

// A gonum matrix becomes a grid of tiles and comes back.
func ExampleFrom() {
	s := mat.NewSymDense(5, nil)
	for i := range 5 {
		s.SetSym(i, i, 4)
		s.SetSym(i, (i+1)%5, -1)
	}
	a, stats := tiles.From(s, tiles.SymLower, 2, tiles.CopyOptions{Stats: true})
	mt, nt := a.Tiles()
	fmt.Printf("%d×%d tiles, %v, 1-norm %g\n", mt, nt, a.Kind(), stats.Norm)

	var back mat.Dense
	a.CopyTo(&back, 0)
	fmt.Println(mat.Equal(s, &back))
	// Output:
	// 3×3 tiles, symmetric, lower half stored, 1-norm 6
	// true
}

// A view has the tiles of a matrix without copying it.
func ExampleViewOf() {
	d := mat.NewDense(4, 6, nil)
	v, _, ok := tiles.ViewOf(d, 3)
	v.Tile(1, 1).Set(0, 2, 7) // the tile starts at (3, 3)
	fmt.Println(ok, d.At(3, 5))
	// Output: true 7
}

// Tiles dealt out to a grid of 2×2 processes.
func ExampleMatrix_SetLayout() {
	a := tiles.New[float32](tiles.Full, 300, 400, 100)
	if err := a.SetLayout(tiles.BlockCyclic{P: 2, Q: 2}, 4); err != nil {
		fmt.Println(err)
	}
	for i := range 3 {
		fmt.Println(a.Owner(i, 0), a.Owner(i, 1), a.Owner(i, 2), a.Owner(i, 3))
	}
	// Output:
	// 0 1 0 1
	// 2 3 2 3
	// 0 1 0 1
}
