// Package libmpi is as much of MPI as transport/mpi needs, by cgo: point-to-point messages
// of bytes, and naps from which processes of the same machine wake one another. It has two
// builds: with the tag mpi, on Linux, and one whose Open says that the tag is missing.
//
// Which MPI is linked is said by tags:
//
//	mpi          Open MPI, as pkg-config ompi says
//	mpi,mpich    MPICH and what has its binary interface, as pkg-config mpich says
//	mpi,mpicc    what the C compiler knows by itself: CC=mpicc go build -tags mpi,mpicc
//
// MPI_THREAD_SERIALIZED is enough: a lock has one call of MPI run at a time.
//
// # Naps
//
// No MPI has a wait that costs nothing: all of them spin. So who waits naps, and looks again.
// To be woken early, each process has a bell in memory that MPI shares between those of a
// machine: who sends to a process there rings it, and who has received something large rings
// that of the sender. A nap is a futex on the bell, so nobody rings who would not be heard.
package libmpi
