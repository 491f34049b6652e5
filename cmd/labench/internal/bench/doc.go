// Package bench makes the problems that labench runs, runs them with la, measures their times and checks the
// results by their residuals.
package bench
