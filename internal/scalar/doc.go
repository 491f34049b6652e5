// Package scalar tells the element types of matrices apart. What depends on the type asks
// here and nowhere else: a new type has to be added to [Real], [Of] and [Pick], and the
// compiler then refuses every call of Pick that has no value for it. So it is with
// transpositions: [Flip] and [Compose] are for real elements, [Transposition] is for all.
package scalar

import "unsafe"

// Real is the real element types.
type Real interface{ float32 | float64 }

// Type is an element type.
type Type uint8

// The element types.
const (
	Float32 Type = iota + 1
	Float64
)

// Of returns the Type of T.
func Of[T Real]() Type { return Pick[T](Float32, Float64) }

// Pick returns the value for T: f32 if T is float32, f64 if it is float64.
func Pick[T Real, V any](f32, f64 V) V {
	switch any(*new(T)).(type) {
	case float32:
		return f32
	case float64:
		return f64
	}
	panic("scalar: an element type without a value")
}

// Size returns the bytes of a T.
func Size[T Real]() int { return int(unsafe.Sizeof(*new(T))) }

// String returns the name of the type in ops and profiles: "f32" or "f64".
func (t Type) String() string {
	switch t {
	case Float32:
		return "f32"
	case Float64:
		return "f64"
	}
	return "scalar.Type(0)"
}

// Eps returns the unit roundoff of T, half the distance from 1 to the next number: 2⁻²⁴ or
// 2⁻⁵³ (LAPACK's xLAMCH('E')).
func Eps[T Real]() float64 { return Pick[T](0x1p-24, 0x1p-53) }

// SafeMin returns the smallest positive normal number of T, whose reciprocal does not
// overflow: 2⁻¹²⁶ or 2⁻¹⁰²² (LAPACK's xLAMCH('S')).
func SafeMin[T Real]() float64 { return Pick[T](0x1p-126, 0x1p-1022) }
