// Package scale is labench scale. It runs an operation with all combinations of sizes, workers, tile sizes,
// policies, versions and devices.
//
// The files, from the bottom up: devices, points, report and plot (the output), flags, scale.
package scale
