// Package netlib is as much of ScaLAPACK as the tests of la/scalapack compare with, by cgo: the tags
// mpi and scalapack, with Open MPI, which Debian's libscalapack-openmpi-dev is made for. Without
// them it is empty.
package netlib
