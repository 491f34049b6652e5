package cuda

// Fault is an error that a [Simulated] simulates:
//
//	           the call returns    the device      what was queued
//	neither    the error           goes on         is done
//	Lost       the error           is lost         is left out from then on
//	Late       nil                 is lost when the queue comes to the call
type Fault struct {
	// Op is the name of a method of Device or Stream, as "Alloc", "CopyIn" or
	// "Gemm"; any if empty. N says which call of it fails, from 1.
	Op string
	N  int
	// Lost makes the device lost by the error.
	Lost bool
	// Late makes a method that enqueues work return nil. The device is lost when the
	// queue comes to the work, as by most errors of devices.
	Late bool
}

// simOps returns the names of the methods that can fail.
func simOps() []string {
	return []string{"Alloc", "Free", "AllocHost", "FreeHost", "NewStream", "NewEvent",
		"CopyIn", "CopyOut", "Copy", "Fill", "Record", "Wait", "Synchronize",
		"Gemm", "Syrk", "Trsm", "Trmm", "Geam", "Potrf", "PotrfWork", "CopyVectors", "GemmBatched", "TrsmBatched",
		"Geqrf", "GeqrfWork", "Larft", "CopyUpper", "SetUpper"}
}

// called counts a call. It returns the error of a fault, or of a lost or closed device, if any.
func (d *Simulated) called(op, stream string) error {
	_, err := d.count(op, stream, false)
	return err
}

// count is called with works for a method that enqueues work, which may fail late instead.
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
		e := &DeviceError{Device: d.name, Op: op, Stream: stream, Code: codeInjected, Reason: "injected", Lost: f.Lost || f.Late}
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
