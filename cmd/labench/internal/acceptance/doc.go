// Package acceptance is labench gpu-check. It tests whether a GPU computes correctly, and how fast it is.
package acceptance
