// Package planner provides the commands that predict runs: machine measures this machine for the predictions,
// plan predicts runs in virtual time, and replay predicts runs of a recorded program.
//
// The files, from the bottom up: machine and replay, which stand alone; nodes, wish, chart, report, forecasts,
// best, plan.
package planner
