package versions

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Profile is what is known about the speed of versions: the mean and variance
// of the time per unit of work, for each op with its type, version, kind of
// worker, processor and size class; and the tile sizes that tuning has found.
// The zero value is empty and ready to use. It is safe for concurrent use and
// must not be copied.
//
// [Load] reads a profile from a file, [Profile.Save] merges it into one.
type Profile struct {
	mu    sync.Mutex // guards the fields below, not what they point to; a leaf
	books map[bookKey]*book
	files []string // that this profile was loaded from or saved to
	tiles map[tileKey]TileSize
	tuned map[tileKey]bool // those of tiles that were set, not loaded
}

type bookKey struct {
	targetKey
	op string
}

// Timing is one entry of a profile: the runs of one version of one op in one
// size class, on one processor.
type Timing struct {
	Op        string  `json:"op"` // with its type: "gemm/f64"
	Class     int     `json:"class"`
	Version   string  `json:"version"`
	Kind      string  `json:"kind"`
	Arch      string  `json:"arch"`
	Processor string  `json:"processor"`
	Runs      uint64  `json:"runs"`  // runs timed, with the warm-ups
	Count     uint64  `json:"count"` // runs that are in Mean and SD
	Mean      float64 `json:"mean"`  // seconds per unit of work
	SD        float64 `json:"sd"`    // sample standard deviation of the same
}

// timingKey identifies a Timing among others.
type timingKey struct {
	bookKey
	class   int
	version string
}

func (t *Timing) key() timingKey {
	return timingKey{bookKey{targetKey{t.Kind, t.Arch, t.Processor}, t.Op}, t.Class, t.Version}
}

func (t *Timing) moments() moments {
	m := moments{runs: t.Runs, count: t.Count, mean: t.Mean}
	if t.Count > 1 {
		m.m2 = t.SD * t.SD * float64(t.Count-1)
	}
	return m
}

func timingOf(k timingKey, m moments) Timing {
	return Timing{
		Op: k.op, Class: k.class, Version: k.version,
		Kind: k.kind, Arch: k.arch, Processor: k.processor,
		Runs: m.runs, Count: m.count, Mean: m.mean, SD: m.sd(),
	}
}

// compareTimings orders by processor, op, class and version.
func compareTimings(a, b Timing) int {
	return cmp.Or(
		strings.Compare(a.Kind, b.Kind),
		strings.Compare(a.Arch, b.Arch),
		strings.Compare(a.Processor, b.Processor),
		strings.Compare(a.Op, b.Op),
		cmp.Compare(a.Class, b.Class),
		strings.Compare(a.Version, b.Version),
	)
}

// Timings returns what p knows, ordered by kind, architecture, processor, op,
// class and version. Versions of which there are only warm-ups are left out.
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

// book returns the book of key, and makes a new one.
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

// load fills the empty p with what file holds. Of that, nothing is unsaved.
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

// fileIndex returns the index of file among p.files, where it puts it.
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

// taken is what one stat adds to a file.
type taken struct {
	key   timingKey
	book  *book
	stat  *stat
	delta moments // what the file does not hold yet
	fresh bool    // the file is to drop what it holds for total
	total moments // all that is known
}

// take returns what file i does not hold yet and marks it as held. What is
// only warm-ups stays where it is.
func (p *Profile) take(i int) []taken {
	var all []taken
	p.each(func(key timingKey, b *book, s *stat) {
		// A file that p has not met holds nothing of p yet.
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
