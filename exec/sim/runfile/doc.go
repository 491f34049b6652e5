// Package runfile reads and writes recorded runs: the tasks of a program, as they were submitted,
// and how long each of them took, for package sim to replay.
package runfile
