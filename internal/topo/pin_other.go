//go:build !linux

package topo

// Pin lets the calling operating system thread run on cpus only. The
// goroutine must be locked to its thread ([runtime.LockOSThread]); see [Lock]
// for the pair. Pin returns [ErrUnsupported] where there is no such call, and
// an error if none of cpus can be had.
func Pin(cpus ...int) error {
	if len(cpus) == 0 {
		return errNoCPU
	}
	return ErrUnsupported
}

// Affinity returns the CPUs that the calling operating system thread may run
// on, or [ErrUnsupported] where they cannot be asked for.
func Affinity() (CPUSet, error) { return nil, ErrUnsupported }
