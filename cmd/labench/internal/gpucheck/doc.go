// Package gpucheck checks a device and everything that works with it, and
// measures it beside NVIDIA's libraries:
//
//	copies     bandwidth from pinned and pageable memory, in, out and both
//	tiles      versions "cuda" on resident tiles, beside the libraries on the same,
//	           and how far their results are from those of the CPU
//	whole      products and factorizations on the CPU, the device and both, with
//	           the residuals of their results, and the libraries on resident
//	           matrices
//
// Everything is a point that takes some seconds at most. Time is limited: see
// [Options]. Results are not judged by speed; what is wrong is in the [Report].
// Whether a version keeps its contract in every corner is for the tests to say,
// which can be carried to a machine without Go: see docs/internals/testing.md.
package gpucheck
