//go:build openblas && mkl

package cpu

// Both libraries define the same symbols, and the linker would silently take
// all of them from one: a build has one C library.
var _ = build_tags_openblas_and_mkl_exclude_each_other
