// Package planner has the commands that say what runs take that are not run: machine measures what plan goes by,
// plan predicts runs in virtual time, replay those of a recorded program, and cluster plan counts what nodes need.
//
// The files, from the bottom up: machine, replay and needs, which stand alone; wish, chart, report, forecasts,
// best, plan.
package planner
