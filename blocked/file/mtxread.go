package file

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/tessera-la/tessera/blocked"
)

// ReadMatrixMarket reads a matrix in the Matrix Market exchange format, plain
// or compressed with gzip, from r until its end.
//
// Formats array and coordinate, fields real (also called double), integer and
// pattern (whose entries become 1), symmetries general, symmetric and
// skew-symmetric are read; complex and hermitian are not. Words of the banner
// may be in any case; fields are separated by blanks or tabs, lines end in LF
// or CRLF; blank lines and comments (%) may stand anywhere behind the banner.
// A line is at most 256 KiB long, a comment of any length.
//
//   - Entries of the same index are added up in T, in the order of the file.
//   - A symmetric file holds the lower triangle, a skew-symmetric one what is
//     below the diagonal.
//   - Numbers are decimal and rounded to nearest; one that overflows T, or an
//     integer outside int64, is an error. nan, inf and infinity are taken,
//     with a sign or not; a factorization reports them.
//   - Fewer or more entries than the size line says are an error.
//
// Three deviations from the format are read, too, as other readers do; opt.Warn is told.
// A value behind an entry of a pattern is ignored. An entry above the diagonal of a symmetric
// or skew-symmetric matrix is taken for its mirror image; if that is there as well, it is an
// error, since nothing says which of them counts. An exponent may be Fortran's, as in 1.5D-3.
//
// A symmetric file becomes a Matrix of kind SymLower unless opt.Want asks for
// another, everything else Full. The Matrix is dense also where the file is
// sparse: see opt.MaxBytes. opt may be nil.
//
// Content that is malformed, not supported or larger than opt.MaxBytes gives a
// *[FormatError] with the number of the line, also within gzip; an error of r
// is returned as it is.
//
// Source: Boisvert, Pozo, Remington, The Matrix Market Exchange Formats:
// Initial Design, NISTIR 5935, 1996.
func ReadMatrixMarket[T blocked.Element](r io.Reader, opt *ReadOptions) (*blocked.Matrix[T], error) {
	o, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	br, err := unzipped(bufio.NewReader(r))
	if err != nil {
		return nil, err
	}
	return readMatrixMarket[T](br, o)
}

// readMatrixMarket reads plain text. Tiles get memory when their first entry
// has arrived and the rest of them at the end, when all entries have been
// found good.
func readMatrixMarket[T blocked.Element](r io.Reader, o ReadOptions) (*blocked.Matrix[T], error) {
	s := newMtxScanner(r)
	s.warn = o.Warn
	h, err := readMtxHeader(s)
	if err != nil {
		return nil, err
	}
	a, err := outline[T](&o, h.symmetry == mtxSymmetric, h.symmetry == mtxSkew, h.m, h.n, o.limitOr(defaultMaxBytes))
	if err != nil {
		if fe, ok := errors.AsType[*FormatError](err); ok {
			fe.Line = s.line
		}
		return nil, err
	}
	put := newMtxPlacer(a, h.symmetry)
	if err := readMtxEntries(s, h, &put); err != nil {
		return nil, err
	}
	for i, j := range a.StoredTiles() {
		a.MakeTile(i, j)
	}
	return a, nil
}

// mtxSink takes the entries of a file, with rows and columns from 0.
type mtxSink[T blocked.Element] interface {
	// add takes an entry that stands where the format has it, and its mirror image with it.
	add(i, j int, v T)
	// above takes the entry (j, i) of a symmetric file, above the diagonal, where the format
	// has none. It reports whether there is not the entry (i, j) as well, as far as is known.
	above(i, j int, v T) bool
	// taken reports whether above had an entry (i, j).
	taken(i, j int) bool
}

// readMtxEntries reads the entries and nothing behind them.
func readMtxEntries[T blocked.Element](s *mtxScanner, h *mtxHeader, put mtxSink[T]) (err error) {
	if h.coordinate {
		err = readMtxCoordinate(s, h, put)
	} else {
		err = readMtxArray(s, h, put)
	}
	if err != nil {
		return err
	}
	switch _, err := s.content(); err {
	case io.EOF:
		return nil
	case nil:
		return &FormatError{Line: s.line, Reason: "text behind the last entry that the size line announces"}
	default:
		return s.fail(err)
	}
}

// entry returns the line of the next entry.
func (s *mtxScanner) entry(have, want int64) ([]byte, error) {
	line, err := s.content()
	if err == io.EOF {
		return nil, &FormatError{Line: s.line, Reason: fmt.Sprintf("file ends after %d of %d entries", have, want)}
	}
	if err != nil {
		return nil, s.fail(err)
	}
	return line, nil
}

// readMtxCoordinate reads lines of row, column and, but for a pattern, value.
func readMtxCoordinate[T blocked.Element](s *mtxScanner, h *mtxHeader, put mtxSink[T]) error {
	const twice = "entries (%d, %d) and (%d, %d) are both there: a symmetric file holds one of them"
	bad := func(format string, args ...any) error {
		return &FormatError{Line: s.line, Reason: fmt.Sprintf(format, args...)}
	}
	for k := range h.nnz {
		line, err := s.entry(k, h.nnz)
		if err != nil {
			return err
		}
		row, p := field(line, 0)
		col, p := field(line, p)
		i, err := parseCount(row)
		if err != nil {
			return bad("row index %s: %v", quoteField(row), err)
		}
		if i < 1 || i > h.m {
			return bad("row index %d is outside 1..%d", i, h.m)
		}
		j, err := parseCount(col)
		if err != nil {
			return bad("column index %s: %v", quoteField(col), err)
		}
		if j < 1 || j > h.n {
			return bad("column index %d is outside 1..%d", j, h.n)
		}
		v := T(1)
		if h.field != mtxPattern {
			var val []byte
			val, p = field(line, p)
			if v, err = parseValue[T](s, h.field, val); err != nil {
				return bad("value %s: %v", quoteField(val), err)
			}
		} else if val, behind := field(line, p); len(val) > 0 {
			if _, err := parseReal[T](val); err == nil {
				s.deviates("an entry of a pattern has a value, which is ignored: the element is 1")
				p = behind
			}
		}
		if rest, _ := field(line, p); len(rest) > 0 {
			return bad("text behind the entry: %s", quoteField(rest))
		}
		switch {
		case h.symmetry == mtxSkew && i == j:
			return bad("entry (%d, %d) is on the diagonal, and a skew-symmetric matrix has zeros there", i, j)
		case h.symmetry != mtxGeneral && i < j:
			s.deviates("an entry is above the diagonal, of which a symmetric file holds what is below: it is taken for its mirror image")
			if !put.above(int(j-1), int(i-1), v) {
				return bad(twice, i, j, j, i)
			}
		case h.symmetry != mtxGeneral && i > j && put.taken(int(i-1), int(j-1)):
			return bad(twice, i, j, j, i)
		default:
			put.add(int(i-1), int(j-1), v)
		}
	}
	return nil
}

// readMtxArray reads a value a line, column by column.
func readMtxArray[T blocked.Element](s *mtxScanner, h *mtxHeader, put mtxSink[T]) error {
	if h.m == 0 {
		return nil // and n may be anything
	}
	// Column j begins in row first + j·step.
	want, first, step := h.m*h.n, 0, 0 // both factors below 2³¹
	switch h.symmetry {
	case mtxSymmetric:
		want, step = h.n*(h.n+1)/2, 1
	case mtxSkew:
		want, first, step = h.n*(h.n-1)/2, 1, 1
	}
	var have int64
	for j := range int(h.n) {
		for i := first + j*step; i < int(h.m); i++ {
			line, err := s.entry(have, want)
			if err != nil {
				return err
			}
			have++
			val, p := field(line, 0)
			v, err := parseValue[T](s, h.field, val)
			if err != nil {
				return &FormatError{Line: s.line, Reason: fmt.Sprintf("value %s: %v", quoteField(val), err)}
			}
			if rest, _ := field(line, p); len(rest) > 0 {
				return &FormatError{Line: s.line, Reason: "more than one value: " + quoteField(rest)}
			}
			put.add(i, j, v)
		}
	}
	return nil
}

// mtxPlacer puts the entries of a file where the kind of the Matrix has them.
type mtxPlacer[T blocked.Element] struct {
	a            *blocked.Matrix[T]
	nb           uint32
	lower, upper bool // the half to keep; both for blocked.Full
	mirror       bool // an entry stands for two
	sign         T    // of the mirrored one

	mirrored *mtxMirrored // nil as long as there are none
}

func newMtxPlacer[T blocked.Element](a *blocked.Matrix[T], sym mtxSymmetry) mtxPlacer[T] {
	p := mtxPlacer[T]{a: a, nb: uint32(a.NB()), mirror: sym != mtxGeneral, sign: 1}
	p.lower = a.Kind() != blocked.SymUpper && a.Kind() != blocked.TriUpper
	p.upper = a.Kind() != blocked.SymLower && a.Kind() != blocked.TriLower
	if sym == mtxSkew {
		p.sign = -1
	}
	return p
}

func (p *mtxPlacer[T]) add(i, j int, v T) {
	if (i >= j || p.upper) && (i <= j || p.lower) {
		p.addTo(i, j, v)
	}
	if p.mirror && i != j && (i > j && p.upper || i < j && p.lower) {
		p.addTo(j, i, p.sign*v)
	}
}

func (p *mtxPlacer[T]) addTo(i, j int, v T) {
	// Dimensions are below 2³¹: 32-bit division is the cheaper one.
	ti, tj := uint32(i)/p.nb, uint32(j)/p.nb
	t := p.a.MakeTile(int(ti), int(tj))
	e := &t.Data[(i-int(ti*p.nb))*t.Stride+j-int(tj*p.nb)]
	if *e == 0 {
		*e = v // and not 0+v, which would lose the sign of -0
		return
	}
	*e += v
}

// above adds an entry that stands above the diagonal to its mirror image (i, j), and reports
// whether there is no entry from below it.
func (p *mtxPlacer[T]) above(i, j int, v T) bool {
	if p.mirrored == nil {
		// No tile is larger than the matrix, whatever NB is.
		p.mirrored = &mtxMirrored{min(p.a.NB(), p.a.Dim()), map[[2]int][]uint64{}}
	}
	if p.mirrored.set(i, j) {
		r, c := i, j
		if !p.lower {
			r, c = j, i
		}
		if nb := p.a.NB(); p.a.MakeTile(r/nb, c/nb).At(r%nb, c%nb) != 0 {
			return false
		}
	}
	p.add(i, j, p.sign*v)
	return true
}

func (p *mtxPlacer[T]) taken(i, j int) bool { return p.mirrored != nil && p.mirrored.has(i, j) }

// mtxMirrored is the set of the elements below the diagonal whose entries stand above it, as
// a bit for each element of a tile that has one.
type mtxMirrored struct {
	nb    int
	tiles map[[2]int][]uint64
}

// at returns where element (i, j) has its bit.
func (m *mtxMirrored) at(i, j int) (tile [2]int, word int, bit uint64) {
	k := i%m.nb*m.nb + j%m.nb
	return [2]int{i / m.nb, j / m.nb}, k / 64, 1 << (k % 64)
}

func (m *mtxMirrored) has(i, j int) bool {
	tile, word, bit := m.at(i, j)
	bits := m.tiles[tile]
	return bits != nil && bits[word]&bit != 0
}

// set adds an element, and reports whether it is new.
func (m *mtxMirrored) set(i, j int) bool {
	if m.has(i, j) {
		return false
	}
	tile, word, bit := m.at(i, j)
	if m.tiles[tile] == nil {
		m.tiles[tile] = make([]uint64, (m.nb*m.nb+63)/64)
	}
	m.tiles[tile][word] |= bit
	return true
}

func parseValue[T blocked.Element](s *mtxScanner, f mtxField, b []byte) (T, error) {
	if len(b) == 0 {
		return 0, errors.New("missing")
	}
	if f == mtxInteger {
		return parseInteger[T](b)
	}
	v, err := parseReal[T](b)
	if err != errNoNumber {
		return v, err
	}
	k := bytes.IndexAny(b, "dD")
	if k < 0 {
		return v, err
	}
	c := bytes.Clone(b)
	c[k] = 'e'
	if v, err = parseReal[T](c); err == nil {
		s.deviates("an exponent is Fortran's, with D for E")
	}
	return v, err
}
