// Package tune is labench tune. It runs operations with promising tile sizes, and keeps the fastest.
//
// The files, from the bottom up: problem, report, tune.
package tune
