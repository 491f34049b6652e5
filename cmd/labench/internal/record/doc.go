// Package record handles the flags that record the tasks of a run: for a report, for files that other programs
// read, for the file of labench replay, and for a web page that shows the tasks while they run.
package record
