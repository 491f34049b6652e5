// Package traffic says what has to be copied to an accelerator and back at least. It has a package of its
// own so that tests of what accelerators copy need not compile the kernels.
package traffic
