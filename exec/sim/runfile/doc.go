// Package runfile reads and writes recorded runs for package sim to replay: the tasks of a program,
// as they were submitted, and how long each took.
package runfile
