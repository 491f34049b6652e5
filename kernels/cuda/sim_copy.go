package cuda

import (
	"time"
	"unsafe"
)

// Copies and fills of a simulated device. A copy between host and device waits for the time
// Latency, and then uses the engine of its direction, whose bandwidth all such copies share. A
// copy inside the device uses the engine that computes, for the time of a launch. All sizes
// are bytes.
//
// A copy reads the host's memory when the stream comes to it, not when it is queued, as with a
// real driver. So a test finds memory that is reused too early. From the first step of the
// engine to the second, the destination is full of NaN.

// area is rows of width bytes, pitch bytes apart.
type area struct {
	pitch, width int64
	rows         int
}

// extent returns the number of bytes from the first to the last one. It does not include
// padding behind the last row, since an allocation may end there.
func (a area) extent() int64 {
	if a.rows == 0 || a.width == 0 {
		return 0
	}
	return int64(a.rows-1)*a.pitch + a.width
}

// bytes returns the number of bytes in the rows, without padding.
func (a area) bytes() int64 { return int64(a.rows) * a.width }

// ok reports whether the rows do not overlap. The pitch of a single row does not matter.
func (a area) ok() bool {
	return a.rows >= 0 && a.width >= 0 && a.pitch >= 0 && (a.rows <= 1 || a.pitch >= a.width)
}

// copyRows copies rows between areas of the same width and number of rows.
func copyRows(dst []byte, da area, src []byte, sa area) {
	for i := range int64(da.rows) {
		copy(dst[i*da.pitch:][:da.width], src[i*sa.pitch:][:sa.width])
	}
}

// poisonRows makes all elements of the rows NaN.
func poisonRows(b []byte, a area) {
	for i := range int64(a.rows) {
		poison(b[i*a.pitch:][:a.width])
	}
}

// CopyIn implements [Stream].
func (s *simStream) CopyIn(dst Ptr, dpitch int64, src unsafe.Pointer, spitch, width int64, rows int) error {
	d := s.d
	return s.copy("CopyIn", s.device(dst), area{dpitch, width, rows}, host(src), area{spitch, width, rows}, &d.in,
		&d.stats.BytesIn)
}

// CopyOut implements [Stream].
func (s *simStream) CopyOut(dst unsafe.Pointer, dpitch int64, src Ptr, spitch, width int64, rows int) error {
	d := s.d
	return s.copy("CopyOut", host(dst), area{dpitch, width, rows}, s.device(src), area{spitch, width, rows}, &d.out,
		&d.stats.BytesOut)
}

// Copy implements [Stream]. Where the areas overlap, the result is NaN.
func (s *simStream) Copy(dst Ptr, dpitch int64, src Ptr, spitch, width int64, rows int) error {
	return s.copy("Copy", s.device(dst), area{dpitch, width, rows}, s.device(src), area{spitch, width, rows}, nil, nil)
}

// memory returns n bytes on one side of a copy, for op. A copy calls it when the stream comes
// to the copy.
type memory func(op string, n int64) ([]byte, *DeviceError)

// device returns the memory of the device at p. It is an error if that was freed since the
// copy was queued.
func (s *simStream) device(p Ptr) memory {
	return func(op string, n int64) ([]byte, *DeviceError) { return s.at(op, p, n) }
}

// host returns the memory of the host at p, without a check. A wrong address ends the process,
// as it would with a driver.
func host(p unsafe.Pointer) memory {
	return func(_ string, n int64) ([]byte, *DeviceError) { return unsafe.Slice((*byte)(p), n), nil }
}

// copy queues a copy that uses the engine bus, and adds its size to bytes. If bus is nil, the
// copy stays inside the device.
func (s *simStream) copy(op string, dst memory, da area, src memory, sa area, bus *engine, bytes *int64) error {
	if !da.ok() || !sa.ok() {
		return s.d.misused(op, s.name, codeInvalid, "%d rows of %d bytes, %d and %d apart", da.rows, da.width,
			sa.pitch, da.pitch)
	}
	return s.enqueue(op, func() *DeviceError {
		if da.extent() == 0 {
			return nil
		}
		to, err := dst(op, da.extent())
		if err != nil {
			return err
		}
		from, err := src(op, sa.extent())
		if err != nil {
			return err
		}
		d := s.d
		by, takes := &d.compute.engine, d.opt.Launch
		if bus != nil {
			d.moved(da, bytes)
			pause(d.opt.Latency)
			by, takes = bus, seconds(float64(da.bytes()), d.opt.Bandwidth)
		}
		by.use(takes, func() { poisonRows(to, da) }, func() { copyRows(to, da, from, sa) })
		return nil
	})
}

// Fill implements [Stream]. Unlike all other writers, it does not make its destination NaN
// before.
func (s *simStream) Fill(dst Ptr, value byte, n int64) error {
	if n < 0 {
		return s.d.misused("Fill", s.name, codeInvalid, "%d bytes", n)
	}
	return s.enqueue("Fill", func() *DeviceError {
		to, err := s.at("Fill", dst, n)
		if err != nil {
			return err
		}
		s.d.compute.use(s.d.opt.Launch, func() {}, func() {
			for i := range to {
				to[i] = value
			}
		})
		return nil
	})
}

// at returns n bytes of the device's memory for op. The error is misuse that a real device
// would notice only when it executes op. It makes the device lost.
func (s *simStream) at(op string, p Ptr, n int64) ([]byte, *DeviceError) {
	b, why := s.d.memory.find(p, n)
	if why != "" {
		return nil, s.d.misused(op, s.name, codeAddress, "illegal address: %d bytes at %#x: %s", n, p, why)
	}
	return b, nil
}

// seconds returns the time that some work takes at a rate per second; 0 if the rate is 0.
func seconds(work, rate float64) time.Duration {
	if rate == 0 {
		return 0
	}
	return time.Duration(work / rate * float64(time.Second))
}

// moved adds the size of a copy between host and device to bytes.
func (d *Simulated) moved(a area, bytes *int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	*bytes += a.bytes()
}
