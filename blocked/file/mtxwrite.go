package file

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"math"
	"strconv"
	"strings"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/internal/scalar"
)

// WriteMatrixMarket writes a to w in the Matrix Market exchange format, with
// field real. Each value has the fewest digits that read back as the same T. If
// a is a symmetric Matrix or another SymmetricSource, the file is symmetric and
// has the lower triangle; otherwise it is general. The format is array, which
// has every element, or with opt.Coordinate it is coordinate, which has those
// that are not +0. NaN and infinities become NaN, +Inf and -Inf, which
// [ReadMatrixMarket] and C's strtod read. opt may be nil. WriteMatrixMarket
// returns an error of w unchanged.
func WriteMatrixMarket[T blocked.Element](w io.Writer, a blocked.Source[T], opt *WriteOptions) error {
	o := opt.orZero()
	format, symmetry := "array", "general"
	if symmetric(a) {
		symmetry = "symmetric"
	}
	if o.Coordinate {
		format = "coordinate"
	}
	m, n := a.Dims()
	bw := bufio.NewWriterSize(w, fileBuffer)
	// bw keeps an error and returns it from a later call.
	fmt.Fprintf(bw, "%s matrix %s real %s\n", mtxMagic, format, symmetry)
	if o.Comment != "" {
		for line := range strings.SplitSeq(o.Comment, "\n") {
			fmt.Fprintf(bw, "%% %s\n", strings.TrimSuffix(line, "\r"))
		}
	}
	if o.Coordinate {
		fmt.Fprintf(bw, "%d %d %d\n", m, n, countEntries(a))
	} else {
		fmt.Fprintf(bw, "%d %d\n", m, n)
	}
	bitSize := 8 * scalar.Size[T]()
	for j, col := range columns(a) {
		for k, v := range col {
			text := bw.AvailableBuffer()
			if o.Coordinate {
				if isPlusZero(v) {
					continue
				}
				text = strconv.AppendInt(text, int64(m-len(col)+k+1), 10)
				text = append(text, ' ')
				text = strconv.AppendInt(text, int64(j+1), 10)
				text = append(text, ' ')
			}
			text = strconv.AppendFloat(text, float64(v), 'g', -1, bitSize)
			text = append(text, '\n')
			if _, err := bw.Write(text); err != nil {
				return err
			}
		}
	}
	return bw.Flush()
}

// columns iterates over the columns of a as the file has them: if a is symmetric, from the diagonal down.
func columns[T blocked.Element](a blocked.Source[T]) iter.Seq2[int, []T] {
	return func(yield func(int, []T) bool) {
		m, n := a.Dims()
		if m == 0 || n == 0 {
			return // without a buffer for 10⁹ empty rows
		}
		col := make([]T, m)
		for j := range n {
			first := 0
			if symmetric(a) {
				first = j
			}
			lineInto(a, col, first, columnLine, j)
			if !yield(j, col[first:]) {
				return
			}
		}
	}
}

// countEntries returns the number of elements that coordinate format writes.
func countEntries[T blocked.Element](a blocked.Source[T]) (entries int64) {
	for _, col := range columns(a) {
		for _, v := range col {
			if !isPlusZero(v) {
				entries++
			}
		}
	}
	return entries
}

func isPlusZero[T blocked.Element](v T) bool { return v == 0 && !math.Signbit(float64(v)) }
