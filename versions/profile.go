package versions

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Profile is what is known about the speed of versions: the mean and variance
// of the time per unit of work, for each op with its type, version, kind of
// worker, processor and size class; and the tile sizes that tuning has found.
// The zero value is empty and ready to use. It is safe for concurrent use and
// must not be copied.
//
// [Load] reads a profile from a file, [Profile.Save] merges it into one.
type Profile struct {
	mu     sync.Mutex // guards the fields below, not what they point to; a leaf
	groups map[groupKey]*group
	warm   map[versionKey]*atomic.Bool
	files  []string // that this profile was loaded from or saved to
	tiles  map[tileKey]TileSize
	tuned  map[tileKey]bool // those of tiles that were set, not loaded
}

type groupKey struct {
	targetKey
	op    string
	class int
}

type versionKey struct {
	targetKey
	op, version string
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
	groupKey
	version string
}

func (t *Timing) key() timingKey {
	return timingKey{groupKey{targetKey{t.Kind, t.Arch, t.Processor}, t.Op, t.Class}, t.Version}
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
	for key, g := range p.snapshot() {
		g.mu.Lock()
		for version, s := range g.stats {
			if s.total.count > 0 {
				all = append(all, timingOf(timingKey{key, version}, s.total))
			}
		}
		g.mu.Unlock()
	}
	slices.SortFunc(all, compareTimings)
	return all
}

// snapshot returns the groups there are now, so that their locks need not be
// taken under p's.
func (p *Profile) snapshot() map[groupKey]*group {
	p.mu.Lock()
	defer p.mu.Unlock()
	groups := make(map[groupKey]*group, len(p.groups))
	for key, g := range p.groups {
		groups[key] = g
	}
	return groups
}

// stats returns the stats of the named versions in a group, and makes those
// that are new.
func (p *Profile) stats(key groupKey, versions []string) (*group, []*stat) {
	warm := make([]*atomic.Bool, len(versions))
	p.mu.Lock()
	if p.groups == nil {
		p.groups = make(map[groupKey]*group)
		p.warm = make(map[versionKey]*atomic.Bool)
	}
	g := p.groups[key]
	if g == nil {
		g = &group{stats: make(map[string]*stat)}
		g.gen.Store(1)
		p.groups[key] = g
	}
	for i, v := range versions {
		k := versionKey{key.targetKey, key.op, v}
		if p.warm[k] == nil {
			p.warm[k] = new(atomic.Bool)
		}
		warm[i] = p.warm[k]
	}
	p.mu.Unlock()

	stats := make([]*stat, len(versions))
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, v := range versions {
		if g.stats[v] == nil {
			g.stats[v] = &stat{warm: warm[i]}
		}
		stats[i] = g.stats[v]
	}
	return g, stats
}

// cell returns a new cell on the group of key.
func (p *Profile) cell(key groupKey, versions []string) *cell {
	names := make([]string, len(versions))
	for i, v := range versions {
		names[i] = clean(v)
	}
	g, stats := p.stats(key, names)
	return &cell{group: g, stats: stats}
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
		_, stats := p.stats(t.key().groupKey, []string{t.Version})
		stats[0].total = t.moments()
		stats[0].low = t.Mean
		stats[0].unsaved = make([]moments, 1)
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
	group *group
	stat  *stat
	delta moments // what the file does not hold yet
	fresh bool    // the file is to drop what it holds for total
	total moments // all that is known
}

// take returns what file i does not hold yet and marks it as held. What is
// only warm-ups stays where it is.
func (p *Profile) take(i int) []taken {
	var all []taken
	for key, g := range p.snapshot() {
		g.mu.Lock()
		for version, s := range g.stats {
			// A file that p has not met holds nothing of p yet.
			for len(s.unsaved) <= i {
				s.unsaved = append(s.unsaved, s.total)
			}
			if d := s.unsaved[i]; d.count > 0 {
				all = append(all, taken{timingKey{key, version}, g, s, d, s.replaced, s.total})
				s.unsaved[i], s.replaced = moments{}, false
			} else if s.total.count > 0 {
				all = append(all, taken{timingKey{key, version}, g, s, moments{}, s.replaced, s.total})
			}
		}
		g.mu.Unlock()
	}
	return all
}

// giveBack undoes take after file i could not be written.
func giveBack(i int, all []taken) {
	for _, t := range all {
		t.group.mu.Lock()
		t.stat.unsaved[i].merge(t.delta)
		t.stat.replaced = t.stat.replaced || t.fresh
		t.group.mu.Unlock()
	}
}
