package file

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"math"
	"strconv"
	"strings"
	"unsafe"

	"github.com/tessera-la/tessera/blocked"
)

// WriteMatrixMarket writes a to w in the Matrix Market exchange format, field
// real, each value with the fewest digits that read back as the same T. A
// symmetric Matrix, or another SymmetricSource, becomes a symmetric file, its
// lower triangle, and any other matrix a general one. Every element is written (format array), or with
// opt.Coordinate those that are not +0. NaN and infinities are written as NaN,
// +Inf and -Inf, which [ReadMatrixMarket] and C's strtod take. opt may be nil.
// An error of w is returned as it is.
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
	// An error of bw stays and comes back from a later call.
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
	var zero T
	bitSize := 8 * int(unsafe.Sizeof(zero))
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

// columns yields the columns that are written, of a symmetric a from the diagonal on.
func columns[T blocked.Element](a blocked.Source[T]) iter.Seq2[int, []T] {
	return func(yield func(int, []T) bool) {
		m, n := a.Dims()
		if m == 0 || n == 0 {
			return // and no buffer for 10⁹ rows of nothing
		}
		col := make([]T, m)
		for j := range n {
			first := 0
			if symmetric(a) {
				first = j
			}
			lineInto(a, col, first, j, true)
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
