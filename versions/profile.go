package versions

import (
	"maps"
	"slices"
	"sync"
)

// Profile is the knowledge of the speed of versions: the mean and variance of the time per unit of
// work, for each op with its type, version, kind of worker, processor and size class; and the tile
// sizes that tuning has found. The zero value is empty and ready to use. It is safe for concurrent
// use and must not be copied.
//
// [Load] reads a profile from a file, [Profile.Save] merges it into one.
type Profile struct {
	mu    sync.Mutex // guards the fields below, not what they point to; a leaf
	books map[bookKey]*book
	files []string // files that it was loaded from or saved to
	tiles map[tileKey]TileSize
	tuned map[tileKey]bool // tiles that were set, not loaded
}

// Timings returns all timings of p, ordered by kind, architecture, processor, op, class and
// version. Versions with warm-ups only are left out.
func (p *Profile) Timings() []Timing {
	var all []Timing
	p.each(func(key timingKey, _ *book, s *stat) {
		if s.total.count > 0 {
			all = append(all, timingOf(key, s.total))
		}
	})
	slices.SortFunc(all, compareTimings)
	return all
}

// each calls f for every stat, with the lock of its book held but not that of p.
func (p *Profile) each(f func(timingKey, *book, *stat)) {
	p.mu.Lock()
	books := maps.Clone(p.books)
	p.mu.Unlock()
	for key, b := range books {
		b.mu.Lock()
		for version, r := range b.records {
			for class, s := range r.stats {
				if s != nil {
					f(timingKey{key, class, version}, b, s)
				}
			}
		}
		b.mu.Unlock()
	}
}

// book returns the book of key, and adds it if there is none.
func (p *Profile) book(key bookKey) *book {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.books == nil {
		p.books = make(map[bookKey]*book)
	}
	b := p.books[key]
	if b == nil {
		b = &book{records: make(map[string]*record)}
		b.gen.Store(1)
		p.books[key] = b
	}
	return b
}

// load fills the empty p with the contents of file. None of them are unsaved.
func (p *Profile) load(file string, c contents) {
	p.files = []string{file}
	p.tiles = make(map[tileKey]TileSize, len(c.TileSizes))
	for _, t := range c.TileSizes {
		p.tiles[t.key()] = t
	}
	for i := range c.Timings {
		t := &c.Timings[i]
		b := p.book(t.key().bookKey)
		b.mu.Lock()
		s := b.record(t.Version).stat(t.Class)
		s.total, s.low, s.unsaved = t.moments(), t.Mean, make([]moments, 1)
		b.mu.Unlock()
	}
}

// fileIndex returns the index of file in p.files, and adds it if need be.
func (p *Profile) fileIndex(file string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.files, file)
	if i < 0 {
		i = len(p.files)
		p.files = append(p.files, file)
	}
	return i
}

// taken is the addition of one stat to a file.
type taken struct {
	key   timingKey
	book  *book
	stat  *stat
	delta moments // runs that the file does not have yet
	fresh bool    // the file's timing is replaced by total
	total moments // all runs
}

// take returns the runs that file i does not have yet and marks them as saved. It leaves stats with
// warm-ups only.
func (p *Profile) take(i int) []taken {
	var all []taken
	p.each(func(key timingKey, b *book, s *stat) {
		// A new file has none of p's runs.
		for len(s.unsaved) <= i {
			s.unsaved = append(s.unsaved, s.total)
		}
		if d := s.unsaved[i]; d.count > 0 {
			all = append(all, taken{key, b, s, d, s.replaced, s.total})
			s.unsaved[i], s.replaced = moments{}, false
		} else if s.total.count > 0 {
			all = append(all, taken{key, b, s, moments{}, s.replaced, s.total})
		}
	})
	return all
}

// giveBack undoes take after file i could not be written.
func giveBack(i int, all []taken) {
	for _, t := range all {
		t.book.mu.Lock()
		t.stat.unsaved[i].merge(t.delta)
		t.stat.replaced = t.stat.replaced || t.fresh
		t.book.mu.Unlock()
	}
}

// newCell returns a cell with p's knowledge of the named versions.
func (p *Profile) newCell(key bookKey, class int, versions []string) *cell {
	c := &cell{book: p.book(key), class: class}
	c.book.mu.Lock()
	defer c.book.mu.Unlock()
	for _, v := range versions {
		r := c.book.record(clean(v))
		c.records, c.stats = append(c.records, r), append(c.stats, r.stat(class))
	}
	return c
}
