// Package acceptance is labench gpu-check: whether a GPU computes right, and how fast it is.
package acceptance
