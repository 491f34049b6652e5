// Package gpucheck checks a device and everything that works with it, and
// measures it beside NVIDIA's libraries:
//
//	versions   every version "cuda" against the same call on the CPU
//	copies     bandwidth from pinned and pageable memory, in, out and both
//	tiles      the versions on resident tiles, and the libraries on the same
//	whole      products and factorizations on the CPU, the device and both,
//	           and the libraries on resident matrices
//	bars       what of it was promised
//
// Everything is a point that takes some seconds at most. Time is limited: see
// [Options]. Results are not judged by speed; what is wrong is in the [Report].
package gpucheck
