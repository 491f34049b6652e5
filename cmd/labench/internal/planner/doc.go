// Package planner has the commands that say what runs take that are not run: machine measures what plan goes by,
// plan predicts runs in virtual time, and replay those of a recorded program.
//
// The files, from the bottom up: machine and replay, which stand alone; nodes, wish, chart, report, forecasts, best,
// plan.
package planner
