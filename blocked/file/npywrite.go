package file

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/internal/scalar"
)

// WriteNPY writes a to w as an array in NumPy's .npy format, version 1.0. The
// elements are float32 or float64 in little-endian order. The file has all m·n
// elements whatever the kind of a, since the format knows no symmetry. It is
// row-major, or with opt.Fortran column-major. opt may be nil. WriteNPY returns
// an error of w unchanged.
func WriteNPY[T blocked.Element](w io.Writer, a blocked.Source[T], opt *WriteOptions) error {
	o := opt.orZero()
	m, n := a.Dims()
	bw := bufio.NewWriterSize(w, fileBuffer)
	// bw keeps an error and returns it from Flush.
	bw.Write(npyPreamble[T](m, n, o.Fortran))
	if m == 0 || n == 0 {
		return bw.Flush() // without a buffer for 10⁹ empty rows
	}
	lines, length := m, n
	if o.Fortran {
		lines, length = n, m
	}
	line := make([]T, length)
	for k := range lines {
		lineInto(a, line, 0, lineKind(o.Fortran), k)
		if err := writeElements(bw, line); err != nil {
			return err
		}
	}
	return bw.Flush()
}

// npyPreamble returns the bytes before the data. The format asks for a multiple
// of 64 bytes.
func npyPreamble[T blocked.Element](m, n int, fortran bool) []byte {
	order := "False"
	if fortran {
		order = "True"
	}
	b := append([]byte(npyMagic), 1, 0, 0, 0)
	b = fmt.Appendf(b, "{'descr': '<f%d', 'fortran_order': %s, 'shape': (%d, %d), }", scalar.Pick[T](4, 8), order, m, n)
	for len(b)%64 != 63 {
		b = append(b, ' ')
	}
	b = append(b, '\n')
	binary.LittleEndian.PutUint16(b[8:], uint16(len(b)-10))
	return b
}

// writeElements writes s in little-endian order.
func writeElements[T blocked.Element](w *bufio.Writer, s []T) error {
	_, err := w.Write(littleBytes(s))
	return err
}

// littleBytes returns the bytes of s in little-endian order: its memory, or on a big-endian machine a copy.
func littleBytes[T blocked.Element](s []T) []byte {
	if littleEndian() {
		return elementBytes(s)
	}
	b, _ := binary.Append(nil, binary.LittleEndian, s) // cannot fail: s is numbers
	return b
}
