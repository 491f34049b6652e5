// Package sweep runs an operation many times: labench scale with all combinations of sizes, workers, tile
// sizes, policies, versions and devices, and labench tune with promising tile sizes.
//
// The files of scale, from the bottom up: devices, scale_sweep (the points), scale_report and scale_plot (the
// output), scale. Those of tune: tune_problem, tune_report, tune.
package sweep
