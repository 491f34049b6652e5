package file

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/tessera-la/tessera/blocked"
)

// ReadMatrixMarket reads a matrix in the Matrix Market exchange format, plain
// or compressed with gzip, from r until its end.
//
// Formats array and coordinate, fields real (also called double), integer,
// unsigned-integer (as SciPy writes it) and pattern (whose entries become 1),
// symmetries general, symmetric and skew-symmetric are read; field complex and
// object vector are not. Words of the banner may be in any case; fields are
// separated by blanks or tabs, lines end in LF or CRLF; blank lines and
// comments (%) may stand anywhere behind the banner. A line is at most 256 KiB
// long, a comment of any length.
//
//   - Entries of the same index are added up in T, in the order of the file.
//   - A symmetric file holds the lower triangle, a skew-symmetric one what is
//     below the diagonal.
//   - Numbers are decimal and rounded to nearest; one that overflows T, or an
//     integer that is neither one of int64 nor of uint64, is an error. nan, inf
//     and infinity are taken, with a sign or not; a factorization reports them.
//   - Fewer or more entries than the size line says are an error.
//
// Some files that are against the rules are read, too, as other readers do; opt.Warn is told.
//
//   - Blanks, or a byte order mark of UTF-8, before the banner.
//   - Symmetry hermitian of a field that is not complex is symmetric.
//   - A value behind an entry of a pattern is ignored, as is a comment behind any entry.
//   - An entry above the diagonal of a symmetric or skew-symmetric matrix is taken for its
//     mirror image. If that is there as well, it is an error, since nothing says whether they
//     count once or twice.
//   - A symmetric or skew-symmetric array may have all n² values, if they have the symmetry;
//     a skew-symmetric matrix may have the zeros on its diagonal.
//   - An exponent may be Fortran's, as in 1.5D-3.
//
// That an integer is rounded, as it is above 2⁵³ in float64, is told as well.
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
	if err := readMtxEntries(s, h, put.add); err != nil {
		return nil, err
	}
	for i, j := range a.StoredTiles() {
		a.MakeTile(i, j)
	}
	return a, nil
}

// readMtxEntries reads the entries, and that nothing is behind them. It calls put for each with
// its row and column from 0; of a symmetric file those are of an element on the diagonal or below
// it, and the entry stands for the mirror image as well.
func readMtxEntries[T blocked.Element](s *mtxScanner, h *mtxHeader, put func(i, j int, v T)) (err error) {
	switch {
	case !h.coordinate && h.symmetry != mtxGeneral:
		return readMtxTriangle(s, h, put) // to the end
	case h.coordinate:
		err = readMtxCoordinate(s, h, put)
	default:
		err = readMtxArray(s, h, put)
	}
	if err != nil {
		return err
	}
	switch line, err := s.content(); err {
	case io.EOF:
		return nil
	case nil:
		return s.behind(line)
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
func readMtxCoordinate[T blocked.Element](s *mtxScanner, h *mtxHeader, put func(i, j int, v T)) error {
	var places mtxPlaces
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
		} else if val, behind := field(line, p); len(val) > 0 && val[0] != '%' {
			if _, err := parseReal[T](val); err == nil {
				s.deviates("an entry of a pattern has a value, which is ignored: the element is 1")
				p = behind
			}
		}
		if rest := s.rest(line, p); len(rest) > 0 {
			return bad("text behind the entry: %s", quoteField(rest))
		}
		if h.symmetry != mtxGeneral && i != j {
			places.add(mtxPlace{s.line, int(i - 1), int(j - 1)})
		}
		switch {
		case h.symmetry == mtxSkew && i == j:
			if v != 0 {
				return diagonalError(s.line, i)
			}
			s.deviates("a zero is on the diagonal of a skew-symmetric matrix, where it is known")
			continue
		case h.symmetry != mtxGeneral && i < j:
			s.deviates("an entry is above the diagonal, of which a symmetric file holds what is below: it is taken for its mirror image")
			if h.symmetry == mtxSkew {
				v = -v
			}
			i, j = j, i
		}
		put(int(i-1), int(j-1), v)
	}
	return places.check()
}

// readMtxArray reads a general array: a value a line, column by column.
func readMtxArray[T blocked.Element](s *mtxScanner, h *mtxHeader, put func(i, j int, v T)) error {
	if h.m == 0 {
		return nil // and n may be anything
	}
	var have int64
	for j := range int(h.n) {
		for i := range int(h.m) {
			line, err := s.entry(have, h.m*h.n) // both factors below 2³¹
			if err != nil {
				return err
			}
			have++
			v, err := readMtxValue[T](s, h, line)
			if err != nil {
				return err
			}
			put(i, j, v)
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
