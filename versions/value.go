package versions

import (
	"io"
	"unsafe"
)

// Value is what a task's operand stands for: a tile, the pivots of a panel, the
// candidates of a tournament. A value knows how large it is and how it is saved,
// restored and sent, so that the code that moves values need not know what they are:
// retries and checkpoints, the caches of devices, and messages between nodes.
//
// Only the order of tasks keeps a value from being read while it is written: no
// method locks anything.
type Value interface {
	// Bytes returns the size of what Encode writes but for its header: of the
	// elements, without padding.
	Bytes() int64
	// Snapshot returns a copy that shares no memory with the value.
	Snapshot() Value
	// Restore overwrites the value with a snapshot of it, in the memory that it
	// has. The snapshot can be restored from more than once. Restore panics if it
	// is given a value of another type or shape.
	Restore(snapshot Value)
	// Encode writes a short header, which says what the value is and its shape, and
	// then the elements as they lie in memory, little-endian.
	Encode(w io.Writer) error
	// Decode overwrites the value with what Encode has written, and reads no more
	// than that. A value that has no memory yet gets it. The error says what is
	// wrong with the header, before anything is overwritten or allocated, or is r's.
	// A value of another shape, where the shape is known, is wrong.
	Decode(r io.Reader) error
}

// Stored is a value whose elements lie in rows in memory that stays where it is: a
// tile. A device with memory of its own copies these rows; any other Value stays
// with the host, where versions for devices read it when they start.
//
// A Stored value is comparable: it is the key under which its copy is found.
type Stored interface {
	Memory() Memory
}

// Memory is where a value lies on the host: Rows rows of Width bytes, Pitch bytes
// apart.
type Memory struct {
	Data         unsafe.Pointer
	Rows         int
	Width, Pitch int64
}

// Shaped is a [Value] whose memory can be had before its elements are: one that a task
// on another node is going to write.
type Shaped interface {
	Value
	// Shape returns what says the value's shape to Reshape: a few bytes.
	Shape() []byte
	// Reshape gives a zero value that shape, and memory for it. The error says what is
	// wrong with the shape, before anything is allocated.
	Reshape(shape []byte) error
}

// Measured is a [Shaped] that says how large a value of a shape is before Reshape gives it memory: who
// names the shape may be a stranger.
type Measured interface {
	Shaped
	// Measure returns what Bytes does of a value with that shape. The error is that of Reshape.
	Measure(shape []byte) (int64, error)
}
