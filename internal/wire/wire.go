package wire

import (
	"encoding/binary"
	"io"
	"slices"
	"unsafe"
)

// HeaderBytes is the size of a header: four bytes that say what follows, and three numbers.
const HeaderBytes = 28

// Header returns the header of what first describes.
func Header(first [4]byte, numbers ...int) []byte {
	b := append(make([]byte, 0, HeaderBytes), first[:]...)
	for _, n := range numbers {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	return b
}

// ReadHeader reads a header.
func ReadHeader(r io.Reader) (first [4]byte, numbers [3]int64, err error) {
	var b [HeaderBytes]byte
	_, err = io.ReadFull(r, b[:])
	for i := range numbers {
		numbers[i] = int64(binary.LittleEndian.Uint64(b[4+8*i:]))
	}
	return [4]byte(b[:4]), numbers, err
}

// Number is the type of a number of a fixed size.
type Number interface {
	~int32 | ~int64 | ~float32 | ~float64
}

// bytesOf returns the memory of x.
func bytesOf[E Number](x []E) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(*new(E))))
}

// bigEndian reports whether numbers have to be turned on this machine.
func bigEndian() bool { return binary.NativeEndian.Uint16([]byte{1, 0}) != 1 }

// turn reverses the bytes of each number of b.
func turn(b []byte, size int) []byte {
	for i := 0; i < len(b); i += size {
		slices.Reverse(b[i : i+size])
	}
	return b
}

// Write writes numbers.
func Write[E Number](w io.Writer, x []E) error {
	b := bytesOf(x)
	if bigEndian() {
		b = turn(slices.Clone(b), int(unsafe.Sizeof(*new(E))))
	}
	_, err := w.Write(b)
	return err
}

// Read fills x with numbers. The error is io.ErrUnexpectedEOF if there are fewer.
func Read[E Number](r io.Reader, x []E) error {
	b := bytesOf(x)
	_, err := io.ReadFull(r, b)
	if err == io.EOF && len(b) > 0 {
		err = io.ErrUnexpectedEOF // the header was there
	}
	if bigEndian() {
		turn(b, int(unsafe.Sizeof(*new(E))))
	}
	return err
}

// arriving is how many bytes ReadMore allocates at least before they are there.
const arriving = 1 << 16

// ReadMore appends n numbers to x. Unless x has the capacity, only a header says how many they are: so it allocates as
// they come, no more than twice what has come.
func ReadMore[E Number](r io.Reader, x []E, n int) (_ []E, err error) {
	for end := len(x) + n; len(x) < end && err == nil; {
		k := end - len(x)
		if cap(x) < end {
			k = min(k, max(len(x), arriving/int(unsafe.Sizeof(*new(E)))))
		}
		x = slices.Grow(x, k)[:len(x)+k]
		err = Read(r, x[len(x)-k:])
	}
	return x, err
}
