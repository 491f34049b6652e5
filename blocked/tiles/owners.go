package tiles

import "fmt"

// SetLayout assigns the tiles of a to owners among the given number of processes,
// as l says. It asks l once for the owner of each stored tile, by rows, and keeps
// the answers: [Matrix.Owner] is a table look-up. A nil l removes the layout.
//
// If an owner is outside 0 ≤ owner < processes, or l has a Validate method
// that refuses it, SetLayout returns an error and a keeps the layout it had;
// the error is a *LayoutError unless it is Validate's own.
func (a *Matrix[T]) SetLayout(l Layout, processes int) error {
	if l == nil {
		a.layout, a.owners = nil, nil
		return nil
	}
	if processes < 1 {
		return &LayoutError{Row: -1, Col: -1, Owner: -1, Reason: fmt.Sprintf("%d processes", processes)}
	}
	if v, ok := l.(interface{ Validate() error }); ok {
		if err := v.Validate(); err != nil {
			return err
		}
	}
	owners := make([]int, a.mt*a.nt)
	for i, j := range a.StoredTiles() {
		p := l.Owner(i, j)
		if p < 0 || p >= processes {
			return &LayoutError{Row: i, Col: j, Owner: p, Reason: fmt.Sprintf("there are %d", processes)}
		}
		owners[i*a.nt+j] = p
	}
	a.layout, a.owners = l, owners
	return nil
}

// Layout returns the layout that [Matrix.SetLayout] has set, or nil.
func (a *Matrix[T]) Layout() Layout { return a.layout }

// Owner returns the process that owns tile (i, j): 0 if a has no layout. It
// panics as [Matrix.Tile] does.
func (a *Matrix[T]) Owner(i, j int) int {
	a.Tile(i, j)
	if a.owners == nil {
		return 0
	}
	return a.owners[i*a.nt+j]
}

// NearestOwner returns the owner of tile (i, j), or of the last tile in its row or column.
func (a *Matrix[T]) NearestOwner(i, j int) int {
	if len(a.owners) == 0 {
		return 0
	}
	return a.owners[min(i, a.mt-1)*a.nt+min(j, a.nt-1)]
}
