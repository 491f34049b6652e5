// Package transpose copies rectangles of memory by rows into such by columns.
package transpose
