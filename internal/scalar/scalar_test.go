package scalar

import (
	"math"
	"testing"
)

func TestOf(t *testing.T) {
	if f32, f64 := Of[float32](), Of[float64](); f32 != Float32 || f64 != Float64 || f32.String() != "f32" || f64.String() != "f64" {
		t.Errorf("float32 is %v, float64 %v", f32, f64)
	}
	if got := Pick[float32](1, 2) + 10*Pick[float64](1, 2); got != 21 {
		t.Errorf("Pick: %d, want 21", got)
	}
}

func TestConstants(t *testing.T) {
	if one := float32(1); one+float32(Eps[float32]()) != one || one+2*float32(Eps[float32]()) == one {
		t.Error("Eps of float32 is not half the distance from 1 to the next number")
	}
	if one := 1.0; one+Eps[float64]() != one || one+2*Eps[float64]() == one {
		t.Error("Eps of float64 is not half the distance from 1 to the next number")
	}
	if SafeMin[float32]() != 2*float64(math.Nextafter32(0x1p-127, 1)-math.SmallestNonzeroFloat32) || SafeMin[float64]() != 0x1p-1022 {
		t.Error("SafeMin is not the smallest normal number")
	}
}
