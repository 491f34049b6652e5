package file

import (
	"encoding/binary"
	"fmt"
	"io"
	"iter"

	"github.com/tessera-la/tessera/blocked"
)

// mtxPlaces lists the entries off the diagonal of a symmetric file in coordinate format: line, row and
// column of each. The list is needed only if some of them are above the diagonal, which is rare, so it
// is packed: it has the distances from the entry before, which usually take three bytes.
type mtxPlaces struct {
	packed       []byte
	last         mtxPlace
	above, below bool // whether there are entries above and below the diagonal
}

// mtxPlace is the line of an entry, and its row and column, from 0.
type mtxPlace struct{ line, i, j int }

func (m *mtxPlaces) add(p mtxPlace) {
	if p.i < p.j {
		m.above = true
	} else {
		m.below = true
	}
	m.packed = binary.AppendUvarint(m.packed, uint64(p.line-m.last.line))
	m.packed = binary.AppendVarint(m.packed, int64(p.i-m.last.i))
	m.packed = binary.AppendVarint(m.packed, int64(p.j-m.last.j))
	m.last = p
}

// all iterates over the entries in the order of the file.
func (m *mtxPlaces) all() iter.Seq[mtxPlace] {
	return func(yield func(mtxPlace) bool) {
		var p mtxPlace
		for b := m.packed; len(b) > 0; {
			line, n := binary.Uvarint(b)
			i, k := binary.Varint(b[n:])
			j, l := binary.Varint(b[n+k:])
			b = b[n+k+l:]
			p = mtxPlace{p.line + int(line), p.i + int(i), p.j + int(j)}
			if !yield(p) {
				return
			}
		}
	}
}

// check returns an error if the file has both an element and its mirror image: nothing says whether
// the two count once or twice.
func (m *mtxPlaces) check() error {
	if !m.above || !m.below {
		return nil
	}
	sides := map[[2]int32]bool{} // by row and column of the element below the diagonal: whether the entry was above
	for p := range m.all() {
		above := p.i < p.j
		at := [2]int32{int32(max(p.i, p.j)), int32(min(p.i, p.j))}
		if side, ok := sides[at]; ok && side != above {
			return &FormatError{Line: p.line, Reason: fmt.Sprintf(
				"entries (%d, %d) and (%d, %d) are both there: a symmetric file holds one of them", p.i+1, p.j+1, p.j+1, p.i+1)}
		}
		sides[at] = above
	}
	return nil
}

// mtxValues is the values of a symmetric file in array format, and their lines. Only their number, which
// is known at the end, says which elements they are.
type mtxValues[T blocked.Element] struct {
	list  []T
	lines []byte // packed: the line of each value, less that of the value before
	line  int    // of the last value
}

func (v *mtxValues[T]) add(x T, line int) {
	v.list = append(v.list, x)
	v.lines = binary.AppendUvarint(v.lines, uint64(line-v.line))
	v.line = line
}

// lineOf returns the line of value k.
func (v *mtxValues[T]) lineOf(k int64) (line int) {
	for b := v.lines; k >= 0; k-- {
		d, n := binary.Uvarint(b)
		line, b = line+int(d), b[n:]
	}
	return line
}

// mtxForm is what an array of a symmetric or skew-symmetric matrix has of each column: the elements from the
// one below the diagonal on, from the diagonal on, or all.
type mtxForm uint8

const (
	mtxStrict mtxForm = iota
	mtxLower
	mtxFull
)

// size returns the number of elements of an n×n matrix. n is below 2³¹.
func (f mtxForm) size(n int64) int64 {
	return [...]int64{n * (n - 1) / 2, n * (n + 1) / 2, n * n}[f]
}

// first returns the row of the first element of column j.
func (f mtxForm) first(j int64) int64 { return [...]int64{j + 1, j, 0}[f] }

// readMtxTriangle reads a symmetric or skew-symmetric array, column by column. By the rules of the format
// it has the lower triangle if it is symmetric, and the elements below the diagonal if it is
// skew-symmetric. Two more forms are in use: a skew-symmetric array with the zeros on its diagonal (by
// mmwrite of MATLAB, and of SciPy before 1.1), and an array of all n² values.
func readMtxTriangle[T blocked.Element](s *mtxScanner, h *mtxHeader, put func(i, j int, v T)) error {
	n, skew, form := h.n, h.symmetry == mtxSkew, mtxLower
	if skew {
		form = mtxStrict
	}
	want := form.size(n)
	var values mtxValues[T]
	for {
		line, err := s.content()
		if err == io.EOF {
			break
		}
		if err != nil {
			return s.fail(err)
		}
		have := int64(len(values.list))
		if have == mtxFull.size(n) {
			return s.trailing(line)
		}
		v, err := readMtxValue[T](s, h, line)
		if err != nil {
			if have >= want {
				return s.trailing(line)
			}
			return err
		}
		values.add(v, s.line)
	}
	switch have := int64(len(values.list)); {
	case have == want:
	case have < want:
		return s.errorf("file ends after %d of %d entries", have, want)
	case skew && have == mtxLower.size(n):
		form = mtxLower
		s.line = values.lineOf(want)
		s.deviates("a skew-symmetric array has the zeros on its diagonal, which are known")
	case have == mtxFull.size(n):
		form = mtxFull
		s.line = values.lineOf(want)
		s.deviates("a symmetric array has all its elements, and not only those of the lower triangle")
	default:
		what := "%d values for a symmetric array of %d×%d, which has %d: the lower triangle, column by column"
		if skew {
			what = "%d values for a skew-symmetric array of %d×%d, which has %d: the elements below the diagonal, column by column"
		}
		return &FormatError{Line: values.lineOf(want), Reason: fmt.Sprintf(what, have, n, n, want)}
	}
	return values.put(n, form, skew, put)
}

// put calls put for each value of an n×n matrix on or below the diagonal. It returns an error if a value
// above the diagonal does not mirror one below, or if skew is set and a value on the diagonal is not 0.
func (v *mtxValues[T]) put(n int64, form mtxForm, skew bool, put func(i, j int, v T)) error {
	next := int64(0)
	for j := range n {
		for i := form.first(j); i < n; i++ {
			x := v.list[next]
			switch {
			case i < j:
				mirror := v.list[i*n+j]
				if skew {
					mirror = -mirror
				}
				if x != mirror && (x == x || mirror == mirror) {
					return &FormatError{Line: v.lineOf(next), Reason: fmt.Sprintf(
						"element (%d, %d) is %v, which (%d, %d) does not mirror: the matrix does not have the symmetry that the banner declares", i+1, j+1, x, j+1, i+1)}
				}
			case i == j && skew:
				if x != 0 {
					return diagonalError(v.lineOf(next), i+1)
				}
			default:
				put(int(i), int(j), x)
			}
			next++
		}
	}
	return nil
}

// diagonalError returns the error of entry (i, i) of a skew-symmetric file that is not 0.
func diagonalError(line int, i int64) error {
	return &FormatError{Line: line, Reason: fmt.Sprintf("entry (%d, %d) is on the diagonal and not zero, and a skew-symmetric matrix has zeros there", i, i)}
}
