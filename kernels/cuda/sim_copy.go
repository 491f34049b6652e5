package cuda

import (
	"time"
	"unsafe"
)

// area is rows of width bytes, pitch bytes apart.
type area struct {
	pitch, width int64
	rows         int
}

// extent is the bytes from the first to the last.
func (a area) extent() int64 {
	if a.rows == 0 || a.width == 0 {
		return 0
	}
	return int64(a.rows-1)*a.pitch + a.width
}

func (a area) bytes() int64 { return int64(a.rows) * a.width }

func (a area) ok() bool {
	return a.rows >= 0 && a.width >= 0 && a.pitch >= 0 && (a.rows <= 1 || a.pitch >= a.width)
}

// copyRows copies rows between areas of the same width and number of rows.
func copyRows(dst []byte, da area, src []byte, sa area) {
	for i := range int64(da.rows) {
		copy(dst[i*da.pitch:][:da.width], src[i*sa.pitch:][:sa.width])
	}
}

// poisonRows makes all elements NaN.
func poisonRows(b []byte, a area) {
	for i := range int64(a.rows) {
		poison(b[i*a.pitch:][:a.width])
	}
}

// CopyIn implements [Stream].
func (s *simStream) CopyIn(dst Ptr, dpitch int64, src unsafe.Pointer, spitch, width int64, rows int) error {
	da, sa := area{dpitch, width, rows}, area{spitch, width, rows}
	if err := s.checkAreas("CopyIn", da, sa); err != nil {
		return err
	}
	return s.enqueue("CopyIn", func() *DeviceError {
		d := s.d
		to, err := s.at("CopyIn", dst, da.extent())
		if err != nil || to == nil {
			return err
		}
		from := unsafe.Slice((*byte)(src), sa.extent())
		d.moved(sa, &d.stats.BytesIn)
		pause(d.opt.Latency)
		d.in.use(d.transfer(da.bytes()), func() { poisonRows(to, da) }, func() { copyRows(to, da, from, sa) })
		return nil
	})
}

// CopyOut implements [Stream].
func (s *simStream) CopyOut(dst unsafe.Pointer, dpitch int64, src Ptr, spitch, width int64, rows int) error {
	da, sa := area{dpitch, width, rows}, area{spitch, width, rows}
	if err := s.checkAreas("CopyOut", da, sa); err != nil {
		return err
	}
	return s.enqueue("CopyOut", func() *DeviceError {
		d := s.d
		from, err := s.at("CopyOut", src, sa.extent())
		if err != nil || from == nil {
			return err
		}
		to := unsafe.Slice((*byte)(dst), da.extent())
		d.moved(da, &d.stats.BytesOut)
		pause(d.opt.Latency)
		d.out.use(d.transfer(sa.bytes()), func() { poisonRows(to, da) }, func() { copyRows(to, da, from, sa) })
		return nil
	})
}

// Copy implements [Stream].
func (s *simStream) Copy(dst Ptr, dpitch int64, src Ptr, spitch, width int64, rows int) error {
	da, sa := area{dpitch, width, rows}, area{spitch, width, rows}
	if err := s.checkAreas("Copy", da, sa); err != nil {
		return err
	}
	return s.enqueue("Copy", func() *DeviceError {
		to, err := s.at("Copy", dst, da.extent())
		if err != nil || to == nil {
			return err
		}
		from, err := s.at("Copy", src, sa.extent())
		if err != nil {
			return err
		}
		s.d.compute.use(s.d.opt.Launch, func() { poisonRows(to, da) }, func() { copyRows(to, da, from, sa) })
		return nil
	})
}

// Fill implements [Stream].
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

// checkAreas returns an error unless both can be copied.
func (s *simStream) checkAreas(op string, dst, src area) error {
	if !dst.ok() || !src.ok() {
		return s.d.misused(op, s.name, codeInvalid, "%d rows of %d bytes, %d and %d apart", dst.rows, dst.width, src.pitch, dst.pitch)
	}
	return nil
}

// at returns n bytes of the device's memory for op, or an error.
func (s *simStream) at(op string, p Ptr, n int64) ([]byte, *DeviceError) {
	b, why := s.d.memory.find(p, n)
	if why != "" {
		return nil, s.d.misused(op, s.name, codeAddress, "illegal address: %d bytes at %#x: %s", n, p, why)
	}
	return b, nil
}

// transfer returns how long n bytes take between host and device.
func (d *Simulated) transfer(n int64) time.Duration { return seconds(float64(n), d.opt.Bandwidth) }

// seconds returns the time of some work at a rate, 0 if that is 0.
func seconds(work, rate float64) time.Duration {
	if rate == 0 {
		return 0
	}
	return time.Duration(work / rate * float64(time.Second))
}

// moved counts a copy from or to the host.
func (d *Simulated) moved(a area, bytes *int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	*bytes += a.bytes()
}
