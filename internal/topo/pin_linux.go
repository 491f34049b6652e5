package topo

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Pin lets the calling operating system thread run on cpus only. The
// goroutine must be locked to its thread ([runtime.LockOSThread]); see [Lock]
// for the pair. Pin returns [ErrUnsupported] where there is no such call, and
// an error if none of cpus can be had.
func Pin(cpus ...int) error {
	set, err := setOf(cpus)
	if err != nil {
		return err
	}
	if err := unix.SchedSetaffinityDynamic(0, set); err != nil {
		return fmt.Errorf("topo: pin to CPUs %v: %w", cpus, err)
	}
	return nil
}

// setOf returns CPUs as the system takes them.
func setOf(cpus []int) (unix.CPUSetDynamic, error) {
	if len(cpus) == 0 {
		return nil, errNoCPU
	}
	set := unix.NewCPUSet(min(slices.Max(cpus), maxCPU) + 1)
	for _, c := range cpus {
		if c < 0 || c >= maxCPU {
			return nil, fmt.Errorf("topo: there is no CPU %d", c)
		}
		set.Set(c)
	}
	return set, nil
}

// Affinity returns the CPUs that the calling operating system thread may run
// on, or [ErrUnsupported] where they cannot be asked for.
func Affinity() (CPUSet, error) { return affinity(0) }

// CPU returns the CPU on which the calling thread runs just now, and -1 where the system does not
// tell. It costs some tens of nanoseconds.
func CPU() int {
	var cpu uint32
	if _, _, errno := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0); errno != 0 {
		return -1
	}
	return int(cpu)
}

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

// Confine lets all threads of this process, those to come included, run on cpus only. It is
// for a process that was started on more CPUs than it is to have; threads that are pinned are
// pinned no more. The error is as that of [Pin].
func Confine(cpus ...int) error {
	set, err := setOf(cpus)
	if err != nil {
		return err
	}
	// A thread that is not seen yet was made by one that was not confined yet: look again
	// until there is none.
	for seen := map[int]bool{}; ; {
		entries, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return fmt.Errorf("topo: confine: %w", err)
		}
		more := false
		for _, e := range entries {
			tid, err := strconv.Atoi(e.Name())
			if err != nil || seen[tid] {
				continue
			}
			seen[tid], more = true, true
			if err := unix.SchedSetaffinityDynamic(tid, set); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("topo: confine to CPUs %v: %w", cpus, err)
			}
		}
		if !more {
			return nil
		}
	}
}

// Grantable returns which of some CPUs a thread of this process can be given: more than it
// has, if the program that started it has bound it. The error is as that of [Affinity].
func Grantable(cpus ...int) (granted CPUSet, err error) {
	runtime.LockOSThread()
	before, err := Affinity()
	if err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	if granted = before; Pin(cpus...) == nil {
		granted, err = Affinity()
	}
	if Pin(before...) == nil { // or else the thread ends with this goroutine
		runtime.UnlockOSThread()
	}
	return granted, err
}
