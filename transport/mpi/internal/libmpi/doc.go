// Package libmpi is as much of MPI as transport/mpi needs, by cgo: point-to-point messages of
// bytes, and naps from which processes of the same machine wake one another. It has two builds:
// with the tag mpi, on Linux, and one whose Open says that the tag is missing.
//
// Tags choose the MPI library:
//
//	mpi          Open MPI, as pkg-config ompi says
//	mpi,mpich    MPICH and what has its binary interface, as pkg-config mpich says
//	mpi,mpicc    what the C compiler knows by itself: CC=mpicc go build -tags mpi,mpicc
//
// MPI_THREAD_SERIALIZED is enough: under a lock one call of MPI runs at a time. Groups alone need
// MPI_THREAD_MULTIPLE: their calls wait for other ranks, and take no lock.
//
// # Naps
//
// No MPI has a wait that costs nothing: all of them spin. So a waiting process naps, and polls
// again. To be woken early, each process has a bell in memory that MPI shares between the processes
// of a machine: a sender rings the receiver's bell, and a receiver of a large message the sender's.
// A nap is a futex on the bell, so no ring is lost.
package libmpi
