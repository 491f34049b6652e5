// Package tuning searches the tile size with which an operation runs fastest, in few measurements, on a machine
// that other programs may disturb.
package tuning
