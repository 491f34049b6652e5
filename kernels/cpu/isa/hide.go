package isa

import "unsafe"

// Hide returns p, and hides from the compiler that it does: an argument of a function in a table
// would have to live on the heap otherwise, for the compiler cannot know that it keeps no pointer.
// Only arguments of such functions may be hidden, and only in the call itself.
func Hide[P any](p *P) *P {
	x := uintptr(unsafe.Pointer(p))
	return *(**P)(unsafe.Pointer(&x))
}

// At returns the address of x[0], hidden. It panics if x is empty.
func At[T any](x []T) unsafe.Pointer { return unsafe.Pointer(Hide(&x[0])) }
