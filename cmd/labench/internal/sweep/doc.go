// Package sweep runs an operation over and over: labench scale over all combinations of sizes, workers, tile
// sizes, policies, versions and devices, and labench tune over the tile sizes that look fast.
//
// The files of scale, from the bottom up: devices, scale_sweep (its points), scale_report and scale_plot (how
// they are shown), scale. Those of tune: tune_problem, tune_report, tune.
package sweep
