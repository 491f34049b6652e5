package cuda

import "fmt"

// called counts a call. It returns the error of a fault, or of a lost or closed device, if any.
func (d *Simulated) called(op, stream string) error {
	_, err := d.count(op, stream, false)
	return err
}

// count is called for a method that enqueues work if works is set. A fault of such a method may be
// late: count then returns no error, and the work makes the device lost.
func (d *Simulated) count(op, stream string, works bool) (late bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.lostErrorLocked(op, stream); err != nil {
		return false, err
	}
	if d.closed {
		return false, d.closedError(op, stream)
	}
	d.calls[op]++
	d.all++
	for _, f := range d.opt.Faults {
		n := d.calls[op]
		if f.Op == "" {
			n = d.all
		}
		if f.Op != "" && f.Op != op || f.N != n {
			continue
		}
		if f.Late && works {
			late = true
			continue
		}
		e := &DeviceError{Device: d.name, Op: op, Stream: stream, Code: codeInjected, Reason: "injected",
			Lost: f.Lost || f.Late}
		if e.Lost {
			d.lost = e
		}
		return false, e
	}
	return late, nil
}

// closedError returns the error of a call on a closed device.
func (d *Simulated) closedError(op, stream string) error {
	return &DeviceError{Device: d.name, Op: op, Stream: stream, Code: codeInvalid, Reason: "the device is closed"}
}

// lose makes d lost because of err, unless d is lost already. Later calls report the first
// reason.
func (d *Simulated) lose(err *DeviceError) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lost == nil {
		e := *err
		e.Device, e.Lost = d.name, true
		if e.Code == 0 {
			e.Code = codeUnknown
		}
		d.lost = &e
	}
}

// lostError returns the error of a lost device for a call, or nil.
func (d *Simulated) lostError(op, stream string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lostErrorLocked(op, stream)
}

// lostErrorLocked is lostError for callers that hold mu. The error names the call op, and its
// reason says which method lost the device.
func (d *Simulated) lostErrorLocked(op, stream string) error {
	if d.lost == nil {
		return nil
	}
	e := *d.lost
	if e.Op != op {
		e.Reason = fmt.Sprintf("%s, in %s", e.Reason, e.Op)
	}
	e.Op, e.Stream = op, stream
	return &e
}

// misused records a misuse of d and returns the error for it. It does not make d lost; the
// caller does, if a device would notice the misuse only later.
func (d *Simulated) misused(op, stream string, code int, format string, a ...any) *DeviceError {
	err := &DeviceError{Device: d.name, Op: op, Stream: stream, Code: code, Reason: fmt.Sprintf(format, a...)}
	d.mu.Lock()
	d.misuse = append(d.misuse, err)
	d.mu.Unlock()
	return err
}
