//go:build !linux

package main

// isTerminal reports whether the file behind fd, a character device, is a
// terminal: here every such device is taken for one.
func isTerminal(uintptr) bool { return true }
