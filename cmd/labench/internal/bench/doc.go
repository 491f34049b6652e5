// Package bench makes the problems that labench runs, runs them through la,
// times them and judges the results by their residuals.
package bench
