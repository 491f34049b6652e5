package versions

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// TileSize is what tuning found out for one operation, size and machine: the
// tile size at which it ran fastest.
type TileSize struct {
	Op        string  `json:"op"` // the operation as a user calls it, with its type: "cholesky/f64"
	Kind      string  `json:"kind"`
	Arch      string  `json:"arch"`
	Processor string  `json:"processor"`
	Workers   int     `json:"workers"`
	N         int     `json:"n"`    // order of the problem
	NB        int     `json:"nb"`   // tile size
	Rate      float64 `json:"rate"` // flop/s that it reached
}

// tileKey identifies a TileSize among others.
type tileKey struct {
	targetKey
	op         string
	workers, n int
}

func (t *TileSize) key() tileKey {
	return tileKey{targetKey{t.Kind, t.Arch, t.Processor}, t.Op, t.Workers, t.N}
}

// compareTileSizes orders by processor, op, workers and order.
func compareTileSizes(a, b TileSize) int {
	return cmp.Or(
		strings.Compare(a.Kind, b.Kind),
		strings.Compare(a.Arch, b.Arch),
		strings.Compare(a.Processor, b.Processor),
		strings.Compare(a.Op, b.Op),
		cmp.Compare(a.Workers, b.Workers),
		cmp.Compare(a.N, b.N),
	)
}

// maxOrder bounds the orders, tile sizes and numbers of workers in a profile.
const maxOrder = 1 << 30

// validate reports what in t cannot come from tuning.
func (t *TileSize) validate() error {
	if err := checkNames(t.Op, t.Kind, t.Arch, t.Processor); err != nil {
		return err
	}
	switch {
	case t.Op == "" || t.Kind == "":
		return errors.New("op or kind is missing")
	case t.Workers < 1 || t.Workers > maxOrder || t.N < 1 || t.N > maxOrder:
		return fmt.Errorf("order %d or %d workers out of range", t.N, t.Workers)
	case t.NB < 1 || t.NB > maxOrder:
		return fmt.Errorf("tile size %d out of range", t.NB)
	case !(t.Rate > 0 && t.Rate <= 1e24):
		return fmt.Errorf("rate %g out of range", t.Rate)
	}
	return nil
}

// SetTileSize records that an operation of order n ran fastest, at rate
// flop/s, with tiles of nb×nb on so many workers of the target. It replaces
// what was known of that operation, order and number of workers. Values that
// no tuning gives are ignored.
func (p *Profile) SetTileSize(op string, on *Target, workers, n, nb int, rate float64) {
	k := keyOf(on)
	t := TileSize{Op: clean(op), Kind: k.kind, Arch: k.arch, Processor: k.processor, Workers: workers, N: n, NB: nb, Rate: rate}
	if t.validate() != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tiles == nil {
		p.tiles = make(map[tileKey]TileSize)
	}
	if p.tuned == nil {
		p.tuned = make(map[tileKey]bool)
	}
	p.tiles[t.key()] = t
	p.tuned[t.key()] = true
}

// TileSize returns the tile size that tuning found for the order nearest to
// n, at most a factor of two away, of the operation on so many workers of the
// target; ok is false if there is none.
func (p *Profile) TileSize(op string, on *Target, workers, n int) (nb int, ok bool) {
	k := keyOf(on)
	op = clean(op)
	p.mu.Lock()
	defer p.mu.Unlock()
	nearest := 1.0
	var found TileSize
	for key, t := range p.tiles {
		if key.targetKey != k || key.op != op || key.workers != workers {
			continue
		}
		d := math.Abs(math.Log2(float64(n) / float64(t.N)))
		// Of two equally near ones the smaller is taken, whatever the order of
		// the map.
		if d < nearest || (d == nearest && (!ok || t.N < found.N)) {
			nearest, found, ok = d, t, true
		}
	}
	return found.NB, ok
}

// TileSizes returns what tuning found, ordered by kind, architecture,
// processor, op, number of workers and order.
func (p *Profile) TileSizes() []TileSize {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.SortedFunc(maps.Values(p.tiles), compareTileSizes)
}

// mergeTileSizes returns what a file holds, with those that were set in p in
// place of those of the same key; what p has only loaded is added where the
// file has lost it.
func (p *Profile) mergeTileSizes(held []TileSize) []TileSize {
	all := make(map[tileKey]TileSize, len(held))
	for _, t := range held {
		all[t.key()] = t
	}
	p.mu.Lock()
	for key, t := range p.tiles {
		if _, ok := all[key]; !ok || p.tuned[key] {
			all[key] = t
		}
	}
	p.mu.Unlock()
	return slices.SortedFunc(maps.Values(all), compareTileSizes)
}
