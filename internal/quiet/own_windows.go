package quiet

import "syscall"

// OwnTime returns the CPU time of this process in seconds. That of its children is unknown.
func OwnTime() (seconds float64, ok bool) {
	self, err := syscall.GetCurrentProcess()
	if err != nil {
		return 0, false
	}
	var began, ended, kernel, user syscall.Filetime
	if err := syscall.GetProcessTimes(self, &began, &ended, &kernel, &user); err != nil {
		return 0, false
	}
	for _, t := range [...]syscall.Filetime{kernel, user} { // in 100 ns
		seconds += float64(uint64(t.HighDateTime)<<32|uint64(t.LowDateTime)) * 1e-7
	}
	return seconds, true
}
