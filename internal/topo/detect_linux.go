package topo

import "os"

// Detect describes the machine that this process runs on. It never fails: Machine.Notes says what
// it could not read.
func Detect() *Machine {
	allowed, err := processAffinity()
	m := Read(os.DirFS("/"), Identify(), allowed)
	if err != nil {
		m.note("%v", err)
	}
	return m
}
