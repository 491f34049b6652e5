package blocked

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unsafe"
)

// WriteMatrixMarket writes a to w in the Matrix Market exchange format, field
// real, each value with the fewest digits that read back as the same T. A
// symmetric Matrix becomes a symmetric file, its lower triangle, and any other
// kind a general one. Every element is written (format array), or with
// opt.Coordinate those that are not +0. NaN and infinities are written as NaN,
// +Inf and -Inf, which [ReadMatrixMarket] and C's strtod take. opt may be nil.
// An error of w is returned as it is.
func WriteMatrixMarket[T Element](w io.Writer, a *Matrix[T], opt *WriteOptions) error {
	o := opt.orZero()
	format, symmetry := "array", "general"
	symmetric := a.kind == SymLower || a.kind == SymUpper
	if symmetric {
		symmetry = "symmetric"
	}
	if o.Coordinate {
		format = "coordinate"
	}
	bw := bufio.NewWriterSize(w, fileBuffer)
	// An error of bw stays and comes back from a later call.
	fmt.Fprintf(bw, "%s matrix %s real %s\n", mtxMagic, format, symmetry)
	if o.Comment != "" {
		for line := range strings.SplitSeq(o.Comment, "\n") {
			fmt.Fprintf(bw, "%% %s\n", strings.TrimSuffix(line, "\r"))
		}
	}
	if o.Coordinate {
		fmt.Fprintf(bw, "%d %d %d\n", a.rows, a.cols, a.countEntries(symmetric))
	} else {
		fmt.Fprintf(bw, "%d %d\n", a.rows, a.cols)
	}

	if len(a.tiles) == 0 {
		return bw.Flush() // and no buffer for 10⁹ rows of nothing
	}
	var zero T
	bitSize := 8 * int(unsafe.Sizeof(zero))
	col := make([]T, a.rows)
	var text []byte
	for j := range a.cols {
		first := 0
		if symmetric {
			first = j
		}
		a.colInto(col, first, j)
		for i := first; i < a.rows; i++ {
			text = text[:0]
			if o.Coordinate {
				if isPlusZero(col[i]) {
					continue
				}
				text = strconv.AppendInt(text, int64(i+1), 10)
				text = append(text, ' ')
				text = strconv.AppendInt(text, int64(j+1), 10)
				text = append(text, ' ')
			}
			text = strconv.AppendFloat(text, float64(col[i]), 'g', -1, bitSize)
			text = append(text, '\n')
			if _, err := bw.Write(text); err != nil {
				return err
			}
		}
	}
	return bw.Flush()
}

// countEntries returns the number of elements that coordinate format writes.
func (a *Matrix[T]) countEntries(symmetric bool) int64 {
	if len(a.tiles) == 0 {
		return 0
	}
	var n int64
	col := make([]T, a.rows)
	for j := range a.cols {
		first := 0
		if symmetric {
			first = j
		}
		a.colInto(col, first, j)
		for _, v := range col[first:] {
			if !isPlusZero(v) {
				n++
			}
		}
	}
	return n
}

func isPlusZero[T Element](v T) bool { return v == 0 && !math.Signbit(float64(v)) }
