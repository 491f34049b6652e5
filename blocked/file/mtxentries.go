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
// who does not want it dense. Begin is called first, with the shape and the number of entries
// that the file announces, which nothing has confirmed yet, and whether it is a general file,
// whose entries stand for themselves only. The error that it returns ends the reading. Then entry
// is called for each entry in the order of the file, with its row and column from 0, and once more
// for the mirror image of one that a symmetric or skew-symmetric file stands for.
// An index may come more than once: such entries are to be added up.
//
// What is accepted, and the errors, are those of [ReadMatrixMarket], but that a symmetric file
// has its entries on one side of the diagonal, whichever; entries may have been handed out
// before an error is found.
func ReadEntries[T blocked.Element](path string, begin func(rows, cols int, entries int64, general bool) error, entry func(i, j int, v T)) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var refused error
	err = scanEntries(f, func(rows, cols int, entries int64, general bool) error {
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

// scanEntries is ReadEntries of a stream.
func scanEntries[T blocked.Element](r io.Reader, begin func(rows, cols int, entries int64, general bool) error, entry func(i, j int, v T)) error {
	br, err := unzipped(bufio.NewReaderSize(r, fileBuffer))
	if err != nil {
		return err
	}
	s := newMtxScanner(br)
	h, err := readMtxHeader(s)
	if err != nil {
		return err
	}
	if h.m > maxDim || h.n > maxDim {
		return &FormatError{Line: s.line, Reason: fmt.Sprintf("%d×%d matrix: a dimension is above %d", h.m, h.n, maxDim)}
	}
	announced := h.nnz
	if !h.coordinate {
		announced = h.m * h.n // both below 2³¹
	}
	if h.symmetry != mtxGeneral && announced <= math.MaxInt64/2 && h.coordinate {
		announced *= 2
	}
	if err := begin(int(h.m), int(h.n), announced, h.symmetry == mtxGeneral); err != nil {
		return err
	}
	to := mtxStream[T]{entry: entry, mirror: h.symmetry != mtxGeneral, sign: 1}
	if h.symmetry == mtxSkew {
		to.sign = -1
	}
	if err := readMtxEntries(s, h, &to); err != nil {
		return err
	}
	if to.upper && to.lower {
		return &FormatError{Reason: "a symmetric file has entries on both sides of the diagonal"}
	}
	return nil
}

// mtxStream hands the entries of a file on.
type mtxStream[T blocked.Element] struct {
	entry        func(i, j int, v T)
	mirror       bool // an entry stands for two
	sign         T    // of the mirrored one
	upper, lower bool // there are some, of a symmetric file
}

func (t *mtxStream[T]) add(i, j int, v T) {
	t.entry(i, j, v)
	if t.mirror && i != j {
		t.lower = true
		t.entry(j, i, t.sign*v)
	}
}

func (t *mtxStream[T]) above(i, j int, v T) bool {
	t.upper = true
	t.entry(j, i, v)
	t.entry(i, j, t.sign*v)
	return true
}

func (t *mtxStream[T]) taken(i, j int) bool { return false }
