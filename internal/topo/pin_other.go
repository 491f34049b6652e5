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

// CPU returns the CPU on which the calling thread runs just now, and -1 where the system does not
// tell. It costs some tens of nanoseconds.
func CPU() int { return -1 }

// Confine lets all threads of this process, those to come included, run on cpus only. It is
// for a process that was started on more CPUs than it is to have; threads that are pinned are
// pinned no more. The error is as that of [Pin].
func Confine(cpus ...int) error { return Pin(cpus...) }

// Grantable returns which of some CPUs a thread of this process can be given: more than it
// has, if the program that started it has bound it. The error is as that of [Affinity].
func Grantable(cpus ...int) (granted CPUSet, err error) { return nil, ErrUnsupported }
