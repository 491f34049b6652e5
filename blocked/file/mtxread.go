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
// Formats array and coordinate, fields real (also called double), integer and
// pattern (whose entries become 1), symmetries general, symmetric and
// skew-symmetric are read; complex and hermitian are not. Words of the banner
// may be in any case; fields are separated by blanks or tabs, lines end in LF
// or CRLF; blank lines and comments (%) may stand anywhere behind the banner.
// A line is at most 256 KiB long, a comment of any length.
//
//   - Entries of the same index are added up in T, in the order of the file.
//   - A symmetric file holds the lower triangle, a skew-symmetric one what is
//     below the diagonal; an entry elsewhere is an error, since nothing says
//     what it should mean when its mirror image stands there too.
//   - Numbers are decimal and rounded to nearest; one that overflows T, or an
//     integer outside int64, is an error. nan, inf and infinity are taken,
//     with a sign or not; a factorization reports them.
//   - Fewer or more entries than the size line says are an error.
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
	h, err := readMtxHeader(s)
	if err != nil {
		return nil, err
	}
	a, err := outline[T](o.Want, h.symmetry == mtxSymmetric, h.symmetry == mtxSkew, h.m, h.n, o.NB, o.limitOr(defaultMaxBytes))
	if err != nil {
		if fe, ok := errors.AsType[*FormatError](err); ok {
			fe.Line = s.line
		}
		return nil, err
	}
	if h.coordinate {
		err = readMtxCoordinate(s, h, a)
	} else {
		err = readMtxArray(s, h, a)
	}
	if err != nil {
		return nil, err
	}
	switch _, err := s.content(); err {
	case io.EOF:
	case nil:
		return nil, &FormatError{Line: s.line, Reason: "text behind the last entry that the size line announces"}
	default:
		return nil, s.fail(err)
	}
	for i, j := range a.StoredTiles() {
		a.MakeTile(i, j)
	}
	return a, nil
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
func readMtxCoordinate[T blocked.Element](s *mtxScanner, h *mtxHeader, a *blocked.Matrix[T]) error {
	put := newMtxPlacer(a, h.symmetry)
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
			if v, err = parseValue[T](h.field, val); err != nil {
				return bad("value %s: %v", quoteField(val), err)
			}
		}
		if rest, _ := field(line, p); len(rest) > 0 {
			return bad("text behind the entry: %s", quoteField(rest))
		}
		switch {
		case h.symmetry == mtxSymmetric && i < j:
			return bad("entry (%d, %d) is above the diagonal: a symmetric file holds the lower triangle", i, j)
		case h.symmetry == mtxSkew && i <= j:
			return bad("entry (%d, %d) is not below the diagonal: a skew-symmetric file holds what is", i, j)
		}
		put.add(int(i-1), int(j-1), v)
	}
	return nil
}

// readMtxArray reads a value a line, column by column.
func readMtxArray[T blocked.Element](s *mtxScanner, h *mtxHeader, a *blocked.Matrix[T]) error {
	put := newMtxPlacer(a, h.symmetry)
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
			v, err := parseValue[T](h.field, val)
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

func parseValue[T blocked.Element](f mtxField, b []byte) (T, error) {
	if len(b) == 0 {
		return 0, errors.New("missing")
	}
	if f == mtxInteger {
		return parseInteger[T](b)
	}
	return parseReal[T](b)
}
