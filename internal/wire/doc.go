// Package wire encodes what values on their way between nodes have in common: a header of [HeaderBytes] bytes, and
// slices of numbers. All numbers are little-endian.
package wire
