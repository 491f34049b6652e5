package file

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/tessera-la/tessera/blocked"
)

// ReadEntries reads a Matrix Market file, plain or compressed with gzip, entry by entry, for
// programs that do not want a dense matrix.
//
// It first calls begin with the shape and an upper bound of the number of calls of entry. Both are what the file
// announces, which may be wrong. general says that the file is neither symmetric nor skew-symmetric. An error of begin
// ends the reading, and ReadEntries returns it. Then it calls entry for each entry in the order of the file, with its
// row and column from 0. For a symmetric or skew-symmetric file it also calls entry for the mirror image of each entry
// off the diagonal. An index may come more than once; the caller must add such entries.
//
// ReadEntries accepts the same files as [ReadMatrixMarket], calls warn, if not nil, for the same
// deviations, and returns the same errors. It may find an error after some calls of entry.
func ReadEntries[T blocked.Element](path string, warn func(Warning), begin func(rows, cols int, entries int64, general bool) error, entry func(i, j int, v T)) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var refused error
	err = scanEntries(f, warnOf(path, warn), func(rows, cols int, entries int64, general bool) error {
		refused = begin(rows, cols, entries, general)
		return refused
	}, entry)
	if fe, ok := errors.AsType[*FormatError](err); ok {
		fe.File = path
		return err
	}
	if err != nil && err != refused {
		return fmt.Errorf("file: reading %s: %w", path, err)
	}
	return err
}

// scanEntries is ReadEntries for a stream. Its errors do not name the file.
func scanEntries[T blocked.Element](r io.Reader, warn func(Warning), begin func(rows, cols int, entries int64, general bool) error, entry func(i, j int, v T)) error {
	br, err := unzipped(bufio.NewReaderSize(r, fileBuffer))
	if err != nil {
		return err
	}
	s := newMtxScanner(br)
	s.warn = warn
	h, err := readMtxHeader(s)
	if err != nil {
		return err
	}
	if h.m > maxDim || h.n > maxDim {
		return s.errorf("%d×%d matrix: a dimension is above %d", h.m, h.n, maxDim)
	}
	announced := h.nnz
	if !h.coordinate {
		announced = h.m * h.n // both below 2³¹
	}
	if h.symmetry != mtxGeneral && announced <= math.MaxInt64/2 && h.coordinate {
		announced *= 2
	}
	if err := begin(int(h.m), int(h.n), announced, h.symmetry == mtxGeneral); err != nil {
		if fe, ok := errors.AsType[*FormatError](err); ok && fe.Line == 0 {
			fe.Line = s.line
		}
		return err
	}
	return readMtxEntries(s, h, func(i, j int, v T) {
		entry(i, j, v)
		switch {
		case h.symmetry == mtxGeneral || i == j:
		case h.symmetry == mtxSkew:
			entry(j, i, -v)
		default:
			entry(j, i, v)
		}
	})
}
