// Package setup is what a command of labench computes with, as its flags say it: workers and accelerators,
// versions of the ops and their profile, and the choices of an algorithm. It also says what this build has.
//
// The files, from the bottom up: devices, profile, resources, versions, choices, tags, local.
package setup
