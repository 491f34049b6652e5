// Package filelock locks files between processes. The operating system ends a lock when the last
// process that has the open file ends, however it ends: no lock is ever left behind, as a file
// with the number of a process can be.
package filelock
