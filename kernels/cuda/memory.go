package cuda

import "unsafe"

// Memory is where a value lies on the host: Rows rows of Width bytes, Pitch
// bytes apart.
type Memory struct {
	Data         unsafe.Pointer
	Rows         int
	Width, Pitch int64
}

// Stored is implemented by values that can be copied to a device, *kernels.Tile
// above all. A copy there has the same pitch. The memory must be the same at
// every call, and the value comparable: it is the key under which its copy is
// found.
type Stored interface {
	Memory() Memory
}
