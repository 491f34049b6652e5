// Package record is what a run's tasks are recorded for, as flags of labench say it: a report, files that other
// programs read, the file of labench replay, and a page that shows the tasks while they run.
package record
