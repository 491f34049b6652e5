//go:build !linux

package topo

import (
	"runtime"

	"github.com/klauspost/cpuid/v2"
)

// Detect describes the machine that this process runs on. It never fails: Machine.Notes says what
// it could not read.
func Detect() *Machine { return guess(Identify(), runtime.NumCPU(), cpuid.CPU.ThreadsPerCore) }
