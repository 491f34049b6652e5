// Package gpucheck checks and measures a device and the software that uses it, and compares with NVIDIA's
// libraries:
//
//	copies     bandwidth from pinned and pageable memory, in, out and both
//	tiles      versions "cuda" on resident tiles, compared with the libraries, and the
//	           distance of their results from those of the CPU
//	again      solutions with a factor that stays on the device
//	whole      products and factorizations on the CPU, the device and both, with the
//	           residuals of their results, and the libraries on resident matrices
//
// Each measurement is a point of a few seconds. The total time is limited: see [Options]. Speed is not judged;
// errors are in the [Report]. Tests check in detail that each version fulfils its contract. They can run on a
// machine without Go: see docs/internals/testing.md.
//
// The files, from the bottom up: report, sizes, memory and station (memory of the device, and calls on it), raw (the
// libraries), gpucheck (points and their time), copies, tiles, again, whole, run.
package gpucheck
