package topo

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// Pin lets the calling operating system thread run on cpus only. The
// goroutine must be locked to its thread ([runtime.LockOSThread]); see [Lock]
// for the pair. Pin returns [ErrUnsupported] where there is no such call, and
// an error if none of cpus can be had.
func Pin(cpus ...int) error {
	if len(cpus) == 0 {
		return errNoCPU
	}
	set := unix.NewCPUSet(min(slices.Max(cpus), maxCPU) + 1)
	for _, c := range cpus {
		if c < 0 || c >= maxCPU {
			return fmt.Errorf("topo: there is no CPU %d", c)
		}
		set.Set(c)
	}
	if err := unix.SchedSetaffinityDynamic(0, set); err != nil {
		return fmt.Errorf("topo: pin to CPUs %v: %w", cpus, err)
	}
	return nil
}

// Affinity returns the CPUs that the calling operating system thread may run
// on, or [ErrUnsupported] where they cannot be asked for.
func Affinity() (CPUSet, error) { return affinity(0) }

// processAffinity returns the CPUs of the process's first thread: those it
// was started with, unless the program pinned its main goroutine.
func processAffinity() (CPUSet, error) { return affinity(os.Getpid()) }

func affinity(pid int) (CPUSet, error) {
	// The kernel refuses a mask smaller than its own, whose size depends on
	// how it was built.
	for n := 1024; n <= maxCPU; n *= 2 {
		set := unix.NewCPUSet(n)
		err := unix.SchedGetaffinityDynamic(pid, set)
		if errors.Is(err, unix.EINVAL) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("topo: affinity: %w", err)
		}
		var cpus CPUSet
		for c := range n {
			if set.IsSet(c) {
				cpus = append(cpus, c)
			}
		}
		return cpus, nil
	}
	return nil, errors.New("topo: affinity: the kernel's CPU mask is too large")
}
