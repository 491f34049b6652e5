//go:build mpi && linux && cgo

package mpi

import (
	"bytes"
	"os"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// TestSignals: a signal for which MPI has a handler as well, as MPICH has for SIGUSR1, reaches
// the program, which was notified of it before MPI was, and ends it on no thread. A fault in Go
// is a panic of Go's.
func TestSignals(t *testing.T) {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil || blocks(t, tid) {
			continue // a thread of MPI's own that takes no signals
		}
		if err := syscall.Tgkill(syscall.Getpid(), tid, syscall.SIGUSR1); err != nil {
			continue // it has ended
		}
		select {
		case <-notified:
		case <-time.After(5 * time.Minute):
			t.Fatalf("thread %d: the program was not notified", tid)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	*address() = 1
}

func address() *int { return nil }

// blocks reports whether a thread takes no SIGUSR1 now, or has ended.
func blocks(t *testing.T, tid int) bool {
	status, err := os.ReadFile("/proc/self/task/" + strconv.Itoa(tid) + "/status")
	if err != nil {
		return true
	}
	mask := regexp.MustCompile(`(?m)^SigBlk:\s*(\w+)$`).FindSubmatch(status)
	if mask == nil {
		t.Fatalf("no SigBlk: %s", bytes.TrimSpace(status))
	}
	n, err := strconv.ParseUint(string(mask[1]), 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n>>(syscall.SIGUSR1-1)&1 == 1
}
