package versions

import (
	"maps"
	"math"
	"slices"
)

// SetTileSize records that an operation of order n ran fastest, at rate
// flop/s, with tiles of nb×nb on so many workers of the target. It replaces
// what was known of that operation, order and number of workers. Values that
// no tuning gives are ignored.
func (p *Profile) SetTileSize(op string, on *Target, workers, n, nb int, rate float64) {
	k := keyOf(on)
	t := TileSize{Op: clean(op), Kind: k.kind, Arch: k.arch, Processor: k.processor, Workers: workers, N: n, NB: nb,
		Rate: rate}
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

// TileSizes returns the results of tuning, ordered by kind, architecture, processor, op, number of
// workers and order.
func (p *Profile) TileSizes() []TileSize {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.SortedFunc(maps.Values(p.tiles), compareTileSizes)
}

// mergeTileSizes returns the entries of a file, replaced by those of the same key that were set in
// p, and with the entries that p has loaded and the file has lost.
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
