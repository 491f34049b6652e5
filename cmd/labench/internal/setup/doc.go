// Package setup interprets the flags that say what a command of labench computes with: workers and
// accelerators, versions of the ops and their profile, and the choices of an algorithm. It also describes this
// build.
//
// The files, from the bottom up: devices, profile, resources, versions, choices, tags, local.
package setup
