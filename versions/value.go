package versions

import (
	"io"
	"unsafe"
)

// Value is the value of a task's operand: a tile, the pivots of a panel, the candidates of a
// tournament. It knows its size and how it is saved, restored and sent. So retries, checkpoints,
// caches of devices and messages between nodes need not know what it is.
//
// Only the order of tasks prevents that a value is read while it is written: no method locks
// anything.
type Value interface {
	// Bytes returns the size of the elements that Encode writes, without its header and without
	// padding.
	Bytes() int64
	// Snapshot returns a copy that shares no memory with the value.
	Snapshot() Value
	// Restore overwrites the value, in its own memory, with a snapshot of it. A snapshot can be
	// restored several times. Restore panics if the snapshot is of another type or shape.
	Restore(snapshot Value)
	// Encode writes a short header with the value's kind and shape, and then the elements as they
	// lie in memory, little-endian.
	Encode(w io.Writer) error
	// Decode overwrites the value with data that Encode has written, and reads no more. A value
	// without memory gets it. The error is r's, or says what is wrong with the header; then nothing
	// has been overwritten or allocated. A header with another shape than the value's, if that is
	// known, is wrong.
	Decode(r io.Reader) error
}

// Stored is a value whose elements lie in rows of memory that does not move: a tile. A device with
// memory of its own copies these rows. Any other Value stays on the host, where versions for
// devices read it when they start.
//
// A Stored value is comparable: it is the key of its copies.
type Stored interface {
	Memory() Memory
}

// Memory is the host memory of a value: Rows rows of Width bytes, Pitch bytes apart.
type Memory struct {
	Data         unsafe.Pointer
	Rows         int
	Width, Pitch int64
}

// Shaped is a [Value] that can get memory before its elements exist: one that a task on another
// node is going to write.
type Shaped interface {
	Value
	// Shape returns the value's shape for Reshape, in a few bytes.
	Shape() []byte
	// Reshape gives a zero value that shape, and memory for it. The error says what is wrong with
	// the shape; then nothing has been allocated.
	Reshape(shape []byte) error
}

// Measured is a [Shaped] that tells the size of a shape before Reshape allocates memory for it: the
// shape may come from a stranger.
type Measured interface {
	Shaped
	// Measure returns Bytes of a value with that shape. The error is Reshape's.
	Measure(shape []byte) (int64, error)
}
