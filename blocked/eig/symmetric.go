package eig

import (
	"cmp"
	"context"
	"slices"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/internal/submit"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
)

// Symmetric is what the stages of the decomposition of a symmetric n×n matrix A in tiles leave for one another,
//
//	A = Q1·C·Q1ᵀ,  C = Q2·T·Q2ᵀ,  T = S·diag(λ)·Sᵀ,  so A = V·diag(λ)·Vᵀ with V = Q1·Q2·S,
//
// with a band C and a tridiagonal T: the reflectors of Q1 by panels, those of Q2 by sweeps, λ, and Vᵀ in strips of rows,
// which are eigenvectors. If A is distributed, all of it is on the nodes. A strip stays on one node, which transforms its
// vectors back.
type Symmetric[T blocked.Element] struct {
	a           *blocked.Matrix[T]
	n, nb       int
	band        int // the number of superdiagonals of C
	first, last int // the eigenvectors of these eigenvalues are wanted
	panels      []panel
	columns     []int // the owner of each set of columns of tiles

	v, f, c []blocked.Tile[T] // of each panel; the last one has neither V nor F
	w, y    []blocked.Tile[T] // of each epoch; y by sets of columns, too
	r       []blocked.Tile[T] // of each column of tiles
	t, λ    []blocked.Tile[T] // one each
	sweeps  []blocked.Tile[T]
	strips  []blocked.Tile[T]
	// These are of the last merge of divide and conquer, if it is divided: a tile for each half; for each block of columns;
	// for each of as many parts of the eigenvalues; and for each strip and block.
	halves, q, roots, z []blocked.Tile[T]

	tile                   func(rows, cols int) blocked.Tile[T] // a new tile
	keeper                 exec.Keeper                          // nil unless A is on nodes, as what follows
	stages, merges, result exec.Kept                            // merges: of the last merge; result: the strips; stages: all else
}

// panel is rows of A that are reduced at a time, within a row of tiles.
type panel struct{ first, rows int }

const (
	// sets is the number of sets of columns of tiles whose products with a panel are added one after the other. Those of a
	// set are best on one node, and so they are on up to six nodes. It is fixed, since the order of sums decides their bits.
	sets = 6
	// epochs is the number of parts of the reduction. Intermediate results of a part have as many rows as there are left
	// at its beginning.
	epochs = 8
	// sweepsTogether is how many sweeps have their reflectors in a tile, a multiple of those that are applied at a time.
	sweepsTogether = 240
	// blocks is the number of blocks of columns of eigenvectors in which the last merge of divide and conquer is done, and of
	// parts of its eigenvalues: for up to as many nodes as sets.
	blocks       = 2 * blocksOfHalf
	blocksOfHalf = sets / 2
	// mergeFrom is the least order of which the last merge is divided.
	mergeFrom = 64
	// stripRows is the largest number of eigenvectors in a strip.
	stripRows = 600
)

// bandwidth returns the number of superdiagonals for tiles of nb×nb. A narrow band is chased faster. A wide one is reached
// faster, and its reflectors are applied faster. Without vectors it is a divisor of nb, by which all panels are as wide, if
// one is in the range. With vectors a tile has as many panels as with the widest band, and products prefer whole vectors of 8.
func bandwidth(nb int, vectors bool) int {
	if vectors {
		const widest = 64
		panels := (nb + widest - 1) / widest
		wide := (nb + panels - 1) / panels
		return min((wide+7)/8*8, max(nb, 2))
	}
	const narrowest, widest = 32, 48
	for b := widest; b >= narrowest; b-- {
		if nb%b == 0 {
			return b
		}
	}
	return min(max(nb, 2), widest)
}

// NewSymmetric returns room for the decomposition of a, for eigenvectors only if vectors is set: see [Symmetric.Select]. If a is
// distributed, rt is its runtime, and the room is on the nodes. The caller must Close it. It panics with ErrKind unless a
// is SymUpper. The error is the runtime's.
func NewSymmetric[T blocked.Element](rt exec.Runtime, a *blocked.Matrix[T], vectors bool) (*Symmetric[T], error) {
	n, nb := a.Dim(), a.NB()
	if a.Kind() != blocked.SymUpper {
		panic(blocked.ErrKind)
	}
	s := &Symmetric[T]{a: a, n: n, nb: nb, band: bandwidth(nb, vectors), columns: columnOwners(a), tile: tiles.NewTile[T]}
	for k := 0; k < n; {
		rows := min(s.band, (k/nb+1)*nb-k, n-k)
		s.panels = append(s.panels, panel{k, rows})
		k += rows
	}
	if a.IsDistributed() {
		s.keeper, s.tile = rt.(exec.Keeper), tiles.OutlineTile[T]
	}
	s.allocate(vectors)
	var err error
	s.stages, err = s.keep(s.v, s.f, s.c, s.w, s.y, s.r, s.t, s.λ, s.sweeps)
	return s, err
}

// keep makes the nodes keep tiles, if A is there.
func (s *Symmetric[T]) keep(all ...[]blocked.Tile[T]) (exec.Kept, error) {
	if s.keeper == nil {
		return nil, nil
	}
	var values []versions.Shaped
	for _, set := range all {
		for i := range set {
			values = append(values, &set[i])
		}
	}
	return s.keeper.Keep(values)
}

// Select makes room for the eigenvectors of eigenvalues first to last−1 in ascending order, before [Stedc] is submitted. It panics
// with ErrIndex if there are no such eigenvalues. The error is the runtime's.
func (s *Symmetric[T]) Select(first, last int) (err error) {
	if first < 0 || last < first || last > s.n {
		panic(blocked.ErrIndex)
	}
	s.first, s.last, s.strips = first, last, nil
	s.halves, s.q, s.roots, s.z = nil, nil, nil, nil
	for i := 0; i < last-first; i += s.stripRows() {
		s.strips = append(s.strips, s.tile(min(s.stripRows(), last-first-i), s.n))
	}
	if s.result, err = s.keep(s.strips); err != nil || s.n < mergeFrom || last == first {
		return err
	}
	for _, second := range [...]bool{false, true} {
		m := op.HalfOrder(s.n, second)
		s.halves = append(s.halves, s.tile(2, m))
		for j := range blocksOfHalf {
			s.q = append(s.q, s.tile(m, (j+1)*m/blocksOfHalf-j*m/blocksOfHalf))
			s.roots = append(s.roots, s.tile(op.RootsRows, s.n))
		}
	}
	for i := range s.strips {
		for j := range s.q {
			s.z = append(s.z, s.tile(s.strips[i].Rows, s.q[j].Cols))
		}
	}
	s.merges, err = s.keep(s.halves, s.q, s.roots, s.z)
	return err
}

// allocate makes all tiles but the strips.
func (s *Symmetric[T]) allocate(vectors bool) {
	add := func(to *[]blocked.Tile[T], rows, cols int) { *to = append(*to, s.tile(rows, cols)) }
	for i, p := range s.panels {
		if rest := s.n - p.first - p.rows; i < len(s.panels)-1 {
			add(&s.v, rest, p.rows)
			add(&s.f, p.rows, p.rows)
		}
		add(&s.c, p.rows, s.band+p.rows)
	}
	for e := range epochs {
		rows := s.n - s.n*e/epochs
		add(&s.w, rows, s.band)
		for range sets {
			add(&s.y, rows, s.band)
		}
	}
	for j := range s.a.NT() {
		add(&s.r, s.band, min(s.nb, s.n-j*s.nb))
	}
	add(&s.t, 2, s.n)
	add(&s.λ, 1, s.n)
	if !vectors {
		return
	}
	for i := range op.SweepTiles(s.n, sweepsTogether) {
		rows, cols := op.SweepTile(s.n, s.band, sweepsTogether, i)
		add(&s.sweeps, rows, cols)
	}
}

// Band returns the number of superdiagonals of C.
func (s *Symmetric[T]) Band() int { return s.band }

// stripRows returns the number of rows of each strip but the last one. The number of strips is even, so that two nodes have as
// many. It does not depend on the nodes, as it decides bits.
func (s *Symmetric[T]) stripRows() int {
	wanted := s.last - s.first
	strips := max((wanted+stripRows-1)/stripRows, 1)
	strips += strips % 2
	return max((wanted+strips-1)/strips, 1)
}

// epoch returns the epoch with room for rows from row k on.
func (s *Symmetric[T]) epoch(k int) int { return k * epochs / s.n }

// owned returns how many tiles of a each owner has.
func owned[T blocked.Element](a *blocked.Matrix[T]) (count []int) {
	for i, j := range a.StoredTiles() {
		o := a.NearestOwner(i, j)
		count = append(count, make([]int, max(o+1-len(count), 0))...)
		count[o]++
	}
	return count
}

// divide returns an owner for each of the weights, so that owners have about their shares of the whole.
func divide(weights []float64, shares []int) []int {
	all, load, order := make([]int, len(weights)), make([]float64, len(shares)), make([]int, len(weights))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(weights[j], weights[i]) })
	for _, i := range order {
		least := -1
		for o, share := range shares {
			if share > 0 && (least < 0 || (load[o]+weights[i])*float64(shares[least]) < (load[least]+weights[i])*float64(share)) {
				least = o
			}
		}
		if least >= 0 {
			load[least] += weights[i]
			all[i] = least
		}
	}
	return all
}

// columnOwners returns the owner of each set of columns, so that the owners of a have work as they have tiles now. A column is updated
// and multiplied about as often as it has tiles.
func columnOwners[T blocked.Element](a *blocked.Matrix[T]) []int {
	weights := make([]float64, sets)
	for j := range a.NT() {
		weights[j%sets] += float64(j+1) * float64(j+1)
	}
	return divide(weights, owned(a))
}

// Columns returns the layout by which the stages on a send least: all tiles of a column have one owner, of those that own
// tiles of a, each with work as it has tiles.
func Columns[T blocked.Element](a *blocked.Matrix[T]) blocked.Layout {
	columns := columnOwners(a)
	return blocked.LayoutFunc(func(_, j int) int { return columns[j%sets] })
}

// Values copies the eigenvalues, which [Stedc] has computed, to dst, of n elements. The error is the runtime's.
func (s *Symmetric[T]) Values(ctx context.Context, dst []T) error {
	if s.n == 0 {
		return nil
	}
	return s.read(ctx, s.stages, &s.λ[0], dst)
}

// read copies a tile to dst, row by row.
func (s *Symmetric[T]) read(ctx context.Context, kept exec.Kept, t *blocked.Tile[T], dst []T) error {
	if kept == nil {
		for i := range t.Rows {
			copy(dst[i*t.Cols:], t.Row(i))
		}
		return nil
	}
	return kept.Fetch(ctx, t, &blocked.Tile[T]{Rows: t.Rows, Cols: t.Cols, Stride: t.Cols, Data: dst[:t.Rows*t.Cols]})
}

// EachStrip calls f for the strips of Vᵀ, with the number of the first eigenvector in each, and a copy of its rows, which f may keep
// until it returns. The error is the runtime's.
func (s *Symmetric[T]) EachStrip(ctx context.Context, f func(first int, rows *blocked.Tile[T])) error {
	var memory []T
	for i := range s.strips {
		t := &s.strips[i]
		if s.result != nil {
			if memory == nil {
				memory = make([]T, t.Rows*t.Cols)
			}
			if err := s.read(ctx, s.result, t, memory); err != nil {
				return err
			}
			t = &blocked.Tile[T]{Rows: t.Rows, Cols: t.Cols, Stride: t.Cols, Data: memory}
		}
		f(i*s.stripRows(), t)
	}
	return nil
}

// Release frees all but the eigenvectors.
func (s *Symmetric[T]) Release() {
	for _, kept := range []*exec.Kept{&s.stages, &s.merges} {
		if *kept != nil {
			(*kept).Release()
			*kept = nil
		}
	}
	s.halves, s.q, s.roots, s.z = nil, nil, nil, nil
	s.v, s.f, s.c, s.w, s.y, s.r, s.t, s.λ, s.sweeps = nil, nil, nil, nil, nil, nil, nil, nil, nil
}

// Close frees everything.
func (s *Symmetric[T]) Close() {
	s.Release()
	if s.result != nil {
		s.result.Release()
		s.result = nil
	}
}

// data returns tiles as data of tasks.
func data[T blocked.Element](p *submit.Tasks[T], s *Symmetric[T], name string, all []blocked.Tile[T], owner func(i int) int) []graph.Datum {
	return p.Data(s, name, len(all), 1, func(i, _ int) (versions.Value, int) { return &all[i], owner(i) })
}

// byColumn returns the owner of column j of tiles.
func (s *Symmetric[T]) byColumn(j int) int { return s.columns[j%sets] }

// byPanel returns the owner of panel i.
func (s *Symmetric[T]) byPanel(i int) int { return s.byColumn(s.panels[i].first / s.nb) }

// byBlock returns the function with the owner of each block of columns of the last merge: neighbours have one owner.
func (s *Symmetric[T]) byBlock() func(j int) int {
	shares, all := owned(s.a), 0
	for _, share := range shares {
		all += share
	}
	return func(j int) int {
		for o, before := 0, 0; o < len(shares); o++ {
			if before += shares[o]; 2*blocks*before > (2*j+1)*all {
				return o
			}
		}
		return 0
	}
}

// byStrip returns the function with the owner of each strip.
func (s *Symmetric[T]) byStrip() func(i int) int {
	weights := make([]float64, len(s.strips))
	for i := range weights {
		weights[i] = float64(s.strips[i].Rows)
	}
	all := divide(weights, owned(s.a))
	return func(i int) int { return all[i] }
}
