package cuda

import "unsafe"

// Device returns the device.
func (q *Queue) Device() Device { return q.device }

// Stream returns the stream for the call's work. The operands are on the device when
// that work starts.
func (q *Queue) Stream() Stream { return q.stream }

// Operand returns the address of Call.Args[i] on the device. Its rows lie pitch bytes
// apart there, which may be less than on the host. It returns zeros for an operand
// without memory, and for one that stays on the host (see [versions.Stored]). Operands
// that are the same value have the same memory. An operand that the call only writes
// has undefined contents at first.
//
// It panics if there is no operand i.
func (q *Queue) Operand(i int) (p Ptr, pitch int64) {
	return q.operands[i].at, q.operands[i].pitch
}

// Scratch returns n bytes of the device's memory, aligned to 256 bytes. They belong to
// the call until it has ended on the device. Their contents are undefined. The error
// is a *[DeviceError], or an *[OutOfMemoryError] if the version asks for more than it
// declared.
func (q *Queue) Scratch(n int64) (Ptr, error) {
	if n <= 0 {
		return 0, nil
	}
	return q.call.scratch(n)
}

// Pinned returns n bytes of pinned host memory, which belong to the call until it has ended on the
// device. Their contents are undefined.
func (q *Queue) Pinned(n int64) (unsafe.Pointer, error) {
	if n <= 0 {
		return nil, nil
	}
	return q.call.pinned(n)
}

// Upload enqueues a copy of b to scratch memory and returns its address there. It has
// read b when it returns. It is meant for small data such as pivots and lists of
// pointers.
func (q *Queue) Upload(b []byte) (Ptr, error) {
	if len(b) == 0 {
		return 0, nil
	}
	n := int64(len(b))
	p, err := q.call.scratch(n)
	if err != nil {
		return 0, err
	}
	src, err := q.call.pinned(n)
	if err != nil {
		return 0, err
	}
	copy(unsafe.Slice((*byte)(src), n), b)
	return p, q.stream.CopyIn(p, n, src, n, n, 1)
}

// Ints returns n integers on the device, which are zero when the call's work
// starts and are copied back after it. Host returns them; only functions given
// to AtEnd may call it.
func (q *Queue) Ints(n int) (p Ptr, host func() []int32, err error) {
	if n <= 0 {
		return 0, func() []int32 { return nil }, nil
	}
	size := 4 * int64(n)
	p, err = q.call.scratch(size)
	if err != nil {
		return 0, nil, err
	}
	if err := q.stream.Fill(p, 0, size); err != nil {
		return 0, nil, err
	}
	bytes, err := q.Bring(p, size)
	return p, func() []int32 { return unsafe.Slice((*int32)(bytes()), n) }, err
}

// Bring enqueues a copy of n bytes at p to the host behind the call's work. Host returns them; only
// functions given to AtEnd may call it.
func (q *Queue) Bring(p Ptr, n int64) (host func() unsafe.Pointer, err error) {
	if n <= 0 {
		return func() unsafe.Pointer { return nil }, nil
	}
	dst, err := q.call.pinned(n)
	if err != nil {
		return nil, err
	}
	q.results = append(q.results, result{dst, p, n})
	return func() unsafe.Pointer { return dst }, nil
}

// AtEnd registers f. The accelerator calls f when the call has ended on the device,
// before it reports the end. The error of f becomes the call's if the call has none
// yet. Functions are called in the order of registration.
func (q *Queue) AtEnd(f func() error) { q.atEnd = append(q.atEnd, f) }
