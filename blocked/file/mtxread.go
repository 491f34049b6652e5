package file

import (
	"bufio"
	"errors"
	"io"

	"github.com/tessera-la/tessera/blocked"
)

// ReadMatrixMarket reads a matrix in the Matrix Market exchange format, plain
// or compressed with gzip, from r until its end.
//
// It reads formats array and coordinate; fields real (also called double),
// integer, unsigned-integer (as SciPy writes it) and pattern (whose entries
// become 1); and symmetries general, symmetric and skew-symmetric. It does not
// read field complex or object vector. Words of the banner may be in any case.
// Blanks or tabs separate fields, and lines end in LF or CRLF. Blank lines and
// comments (%) may stand anywhere after the banner. A line has at most 256 KiB;
// a comment may be longer.
//
//   - ReadMatrixMarket adds up entries of the same index in T, in the order of
//     the file.
//   - A symmetric file holds the lower triangle; a skew-symmetric file holds
//     the elements below the diagonal.
//   - Numbers are decimal, and are rounded to nearest. A number that overflows
//     T is an error, and so is an integer that fits neither int64 nor uint64.
//     nan, inf and infinity, with a sign or without, are read; a factorization
//     reports them.
//   - Fewer or more entries than the size line announces are an error.
//
// ReadMatrixMarket also reads some files that break the rules, as other readers do. It calls
// opt.Warn for each of these deviations:
//
//   - Blanks, or a byte order mark of UTF-8, stand before the banner.
//   - The symmetry is hermitian and the field is not complex: the matrix is symmetric.
//   - A value follows an entry of a pattern, or a comment follows any entry: it is ignored.
//   - An entry of a symmetric or skew-symmetric matrix is above the diagonal: it stands for its
//     mirror image. If the file has the mirror image as well, that is an error, since nothing
//     says whether the two count once or twice.
//   - A symmetric or skew-symmetric array has all n² values: they must have the symmetry.
//   - A skew-symmetric matrix has the zeros on its diagonal.
//   - An exponent is Fortran's, as in 1.5D-3.
//   - An integer was rounded, because T cannot hold it: float64 cannot hold all above 2⁵³.
//
// A symmetric file becomes a Matrix of kind SymLower unless opt.Want asks for
// another kind; any other file becomes Full. The Matrix is dense even if the
// file is sparse: see opt.MaxBytes. opt may be nil.
//
// If the content is malformed, not supported, or larger than opt.MaxBytes, the
// error is a *[FormatError] with the number of the line, also within gzip.
// ReadMatrixMarket returns an error of r unchanged.
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

// readMatrixMarket reads plain text. A tile gets memory when its first entry
// has arrived. Tiles without entries get theirs at the end, when all entries
// have been found valid.
func readMatrixMarket[T blocked.Element](r io.Reader, o ReadOptions) (*blocked.Matrix[T], error) {
	s := newMtxScanner(r)
	s.warn = o.Warn
	h, err := readMtxHeader(s)
	if err != nil {
		return nil, err
	}
	a, err := outline[T](&o, h.symmetry, h.m, h.n, o.limitOr(defaultMaxBytes))
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

// readMtxEntries reads the entries, and checks that nothing follows them. It calls put for each entry
// with its row and column, from 0. If the file is symmetric or skew-symmetric, the element is on or
// below the diagonal, and the entry also stands for the mirror image.
func readMtxEntries[T blocked.Element](s *mtxScanner, h *mtxHeader, put func(i, j int, v T)) (err error) {
	switch {
	case !h.coordinate && h.symmetry != mtxGeneral:
		return readMtxTriangle(s, h, put) // which reads to the end of the file
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
		return s.trailing(line)
	default:
		return s.fail(err)
	}
}

// entry returns the line of the next entry.
func (s *mtxScanner) entry(have, want int64) ([]byte, error) {
	line, err := s.content()
	if err == io.EOF {
		return nil, s.errorf("file ends after %d of %d entries", have, want)
	}
	if err != nil {
		return nil, s.fail(err)
	}
	return line, nil
}

// readMtxCoordinate reads lines of row, column and, unless the field is pattern, value.
func readMtxCoordinate[T blocked.Element](s *mtxScanner, h *mtxHeader, put func(i, j int, v T)) error {
	var places mtxPlaces
	for k := range h.nnz {
		line, err := s.entry(k, h.nnz)
		if err != nil {
			return err
		}
		row, p := field(line, 0)
		col, p := field(line, p)
		i, err := parseCount(row)
		if err != nil {
			return s.errorf("row index %s: %v", quoteField(row), err)
		}
		if i < 1 || i > h.m {
			return s.errorf("row index %d is outside 1..%d", i, h.m)
		}
		j, err := parseCount(col)
		if err != nil {
			return s.errorf("column index %s: %v", quoteField(col), err)
		}
		if j < 1 || j > h.n {
			return s.errorf("column index %d is outside 1..%d", j, h.n)
		}
		v := T(1)
		if h.field != mtxPattern {
			var val []byte
			val, p = field(line, p)
			if v, err = parseValue[T](s, h.field, val); err != nil {
				return s.errorf("value %s: %v", quoteField(val), err)
			}
		} else if val, behind := field(line, p); len(val) > 0 && val[0] != '%' {
			if _, err := parseReal[T](val); err == nil {
				s.deviates("an entry of a pattern has a value, which is ignored: the element is 1")
				p = behind
			}
		}
		if rest := s.rest(line, p); len(rest) > 0 {
			return s.errorf("text behind the entry: %s", quoteField(rest))
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

// readMtxArray reads a general array: one value per line, column by column.
func readMtxArray[T blocked.Element](s *mtxScanner, h *mtxHeader, put func(i, j int, v T)) error {
	if h.m == 0 {
		return nil // without a loop over n columns, which may be many
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

// mtxPlacer adds the entries of a file to the elements that a Matrix of its kind stores.
type mtxPlacer[T blocked.Element] struct {
	a            *blocked.Matrix[T]
	nb           uint32
	lower, upper bool // the half to keep; both for blocked.Full
	mirror       bool // an entry also stands for its mirror image …
	sign         T    // … multiplied by sign
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

// add adds entry v in row i and column j and, if there is one, its mirror image.
func (p *mtxPlacer[T]) add(i, j int, v T) {
	if (i >= j || p.upper) && (i <= j || p.lower) {
		p.addTo(i, j, v)
	}
	if p.mirror && i != j && (i > j && p.upper || i < j && p.lower) {
		p.addTo(j, i, p.sign*v)
	}
}

// addTo adds v to element (i, j), which the Matrix stores.
func (p *mtxPlacer[T]) addTo(i, j int, v T) {
	// Dimensions are below 2³¹, and 32-bit division is cheaper than 64-bit division.
	ti, tj := uint32(i)/p.nb, uint32(j)/p.nb
	t := p.a.MakeTile(int(ti), int(tj))
	e := &t.Data[(i-int(ti*p.nb))*t.Stride+j-int(tj*p.nb)]
	if *e == 0 {
		*e = v // 0+v would lose the sign of -0
		return
	}
	*e += v
}
