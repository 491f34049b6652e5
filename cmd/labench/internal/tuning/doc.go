// Package tuning looks for the tile size at which an operation runs fastest,
// in few measurements on a machine that is not quiet.
package tuning
