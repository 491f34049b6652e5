package report

import "golang.org/x/sys/unix"

// isTerminal reports whether the file behind fd, a character device, is a
// terminal.
func isTerminal(fd uintptr) bool {
	_, err := unix.IoctlGetTermios(int(fd), unix.TCGETS)
	return err == nil
}
