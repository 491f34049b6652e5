package file

import (
	"encoding/binary"
	"math"
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/internal/scalar"
)

// npyDecoder converts n consecutive elements of a .npy file in src to dst[0],
// dst[inc], …, dst[(n-1)·inc]. It returns n, or the index of a finite element
// that overflows T.
type npyDecoder[T blocked.Element] func(dst []T, inc, n int, src []byte) int

// decoder returns the conversion of elements of type t to T, which rounds to
// nearest. The conversion sets rounded if rounding changed an integer.
func decoder[T blocked.Element](t npyType, rounded *atomic.Bool) npyDecoder[T] {
	if t.kind == 'f' {
		convert := decodeFloat64[T](t.big)
		switch t.size {
		case 2:
			convert = decodeFloat16[T](t.big)
		case 4:
			convert = decodeFloat32[T](t.big)
		}
		if t.big == littleEndian() || t.size != scalar.Size[T]() {
			return convert
		}
		return func(dst []T, inc, n int, src []byte) int {
			if inc != 1 {
				return convert(dst, inc, n, src)
			}
			// The copy is by bytes, since src may not be aligned.
			copy(elementBytes(dst[:n]), src)
			return n
		}
	}
	load, shift := intLoader(t), 64-8*t.size
	// T holds every integer of 2 bytes if it is float32, and of 4 bytes if it is float64.
	exact := t.size <= scalar.Pick[T](2, 4)
	return func(dst []T, inc, n int, src []byte) int {
		changed := false
		for k := range n {
			v := load(src[k*t.size:])
			switch t.kind {
			case 'b':
				dst[k*inc] = T(min(v, 1))
			case 'u':
				x := T(v)
				changed = changed || !exact && !holds(x, v)
				dst[k*inc] = x
			default:
				i := int64(v<<shift) >> shift
				x := T(i)
				if !exact && !changed {
					if i < 0 {
						changed = !holds(-x, -uint64(i))
					} else {
						changed = !holds(x, uint64(i))
					}
				}
				dst[k*inc] = x
			}
		}
		if changed {
			rounded.Store(true)
		}
		return n
	}
}

// roundedReason returns the reason of a Warning that an integer was rounded to T.
func roundedReason[T blocked.Element]() string {
	return scalar.Pick[T]("an integer is rounded to the nearest float32, which does not hold it",
		"an integer is rounded to the nearest float64, which does not hold it")
}

// decodeFloat16 returns a decoder for IEEE 754's binary16. T holds every binary16 exactly.
func decodeFloat16[T blocked.Element](big bool) npyDecoder[T] {
	return func(dst []T, inc, n int, src []byte) int {
		src = src[:2*n]
		for k, p := 0, 0; k < n; k, p = k+1, p+inc {
			x := binary.LittleEndian.Uint16(src[2*k:])
			if big {
				x = bits.ReverseBytes16(x)
			}
			dst[p] = T(float16(x))
		}
		return n
	}
}

// float16 returns the value of a binary16, which has a sign bit, 5 bits of exponent and 10 of fraction.
func float16(x uint16) float32 {
	sign, exponent, fraction := uint32(x>>15)<<31, uint32(x>>10&31), uint32(x&1023)
	switch exponent {
	case 0: // zero, and subnormal numbers, below 2⁻¹⁴
		v := float32(fraction) * 0x1p-24
		return math.Float32frombits(math.Float32bits(v) | sign)
	case 31: // infinity, NaN
		return math.Float32frombits(sign | 0xff<<23 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}

// decodeFloat64 returns a decoder for float64.
func decodeFloat64[T blocked.Element](big bool) npyDecoder[T] {
	return func(dst []T, inc, n int, src []byte) int {
		bad := n
		src = src[:8*n]
		for k, p := 0, 0; k < n; k, p = k+1, p+inc {
			x := binary.LittleEndian.Uint64(src[8*k:])
			if big {
				x = bits.ReverseBytes64(x)
			}
			v := math.Float64frombits(x)
			t := T(v)
			if t-t != 0 && v-v == 0 { // finite became infinite
				bad = k
			}
			dst[p] = t
		}
		return bad
	}
}

// decodeFloat32 returns a decoder for float32.
func decodeFloat32[T blocked.Element](big bool) npyDecoder[T] {
	return func(dst []T, inc, n int, src []byte) int {
		src = src[:4*n]
		for k, p := 0, 0; k < n; k, p = k+1, p+inc {
			x := binary.LittleEndian.Uint32(src[4*k:])
			if big {
				x = bits.ReverseBytes32(x)
			}
			dst[p] = T(math.Float32frombits(x))
		}
		return n
	}
}

// intLoader returns a function that reads one integer of type t, without sign.
func intLoader(t npyType) func([]byte) uint64 {
	var order binary.ByteOrder = binary.LittleEndian
	if t.big {
		order = binary.BigEndian
	}
	switch t.size {
	case 1:
		return func(b []byte) uint64 { return uint64(b[0]) }
	case 2:
		return func(b []byte) uint64 { return uint64(order.Uint16(b)) }
	case 4:
		return func(b []byte) uint64 { return uint64(order.Uint32(b)) }
	}
	return order.Uint64
}

// elementBytes returns the memory of s as bytes. The two share it.
func elementBytes[T blocked.Element](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*scalar.Size[T]())
}
