package topo

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Delays tells what has held up an operating system thread: how long it has been ready to run
// while others had its processor, and page faults. A nil Delays knows of none.
type Delays struct {
	file *os.File // schedstat of the thread
	text [64]byte
}

// ThreadDelays returns the Delays of the calling thread, to which the goroutine must be
// locked; nil where the system does not tell. [Delays.Close] ends them.
func ThreadDelays() *Delays {
	f, err := os.Open("/proc/thread-self/schedstat")
	if err != nil {
		return nil
	}
	return &Delays{file: f}
}

// Now returns the sum of all delays of the thread.
func (d *Delays) Now() time.Duration {
	if d == nil {
		return 0
	}
	// Time on the processor, time spent waiting for it, and times that it was given, in ns.
	n, _ := d.file.ReadAt(d.text[:], 0)
	fields := bytes.Fields(d.text[:n])
	if len(fields) < 2 {
		return 0
	}
	ns, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(ns)
}

// Faults returns how many page faults the calling thread has had. It must be that of d.
func (d *Delays) Faults() int64 {
	var u unix.Rusage
	if d == nil || unix.Getrusage(unix.RUSAGE_THREAD, &u) != nil {
		return 0
	}
	return int64(u.Minflt) + int64(u.Majflt)
}

// Close lets go of what is kept for d.
func (d *Delays) Close() {
	if d != nil {
		_ = d.file.Close() // it was only read
	}
}
