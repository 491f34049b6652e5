// Package mpi is a transport over MPI, for the processes that mpirun or srun has started together:
// each rank is a node.
//
//	w, err := mpi.Open()              // on all ranks; MPI_Init, unless the program has called it
//	t, err := w.New(mpi.Options{})    // on all ranks: a transport.Transport
//	if w.Rank() > 0 {
//		err = cluster.Serve(ctx, cluster.Options{Transport: t, Driver: w.Name(0), …})
//	} else {
//		d, err := cluster.NewDriver(cluster.Options{Transport: t, …})
//		…                         // what rank 0 computes on d
//		err = d.Close()           // has Serve return nil on the others
//	}
//	err = w.Close()                   // on all ranks; MPI_Finalize
//
// It needs the tag mpi, Linux and a C compiler; otherwise Open returns a *[BuildError]. Two builds,
// for Open MPI and for MPICH, are told apart by the tag mpich: see docs/cluster.md.
//
// # Frames and values
//
// Nodes exchange frames: messages, requests for values, counts of handled messages, joining and
// leaving. Each has a checksum. A value is encoded by its type, which writes a header and then its
// elements as they lie in memory. The header goes with a frame that says how many bytes follow;
// these go as a message of MPI with a tag of their own, from the memory of the one value into the
// memory of the other.
//
//	fetch   want(ref) ──────────────► Read                     publisher
//	        ◄──────── part(header, n)  Encode
//	Decode  ◄════════ n bytes          with the tag of the fetch
//	        ◄──────── part(last, CRC)
//
// Go's collector must not move or free memory that MPI reads or writes: it is pinned until MPI has
// ended with it. A fetch that does not want the rest receives it all the same; else the next fetch
// with that tag would.
//
// A node may have 64 messages, and 4 MiB of them, on the way to another one that has not handled
// them: then Send waits.
//
// # Progress
//
// MPI makes progress only while it is called. One goroutine calls it, and naps when there is
// nothing to do. A sender on the same machine wakes it. With nodes on other machines it looks again
// after 50 µs at first; in any case after 4 ms, or a tenth of the time in which nothing has
// happened, up to 50 ms.
//
// # Tasks that call MPI
//
// A task of several ranks (cluster.SubmitGroup) has a communicator of its own: see [World.Run]. It is made by
// MPI_Comm_create_group, which only these ranks call. Its calls come from the threads of tasks, beside those of the
// goroutine above: hence [OpenMultiple].
//
// # The beginning
//
// MPI_Init waits for ever for a rank that has ended before it got there, and some libraries take a
// core for that. So [Open] gives up after some time, with [ErrAbsent].
//
// # Losing a rank
//
// A node that says nothing for Options.Timeout has left, for good. Messages to it are dropped, and
// MPI is asked to cancel receives from it. The others go on if the launcher lets them (srun
// --no-kill) and the MPI library does: docs/cluster.md says what Open MPI and MPICH do. If they
// cannot, or MPI does not return from a call for 30 s, Options.Broken is called.
//
// # Signals
//
// MPI libraries have handlers for signals: MPICH for SIGUSR1, by which its launcher says that a
// rank is lost. If Open initialises MPI, such a handler runs on the stack for signals, as Go
// demands, and then Go's own. Faults are left to Go. If the program has initialised MPI itself, its
// handlers stay as they are.
//
// # The end
//
// MPI_Finalize of MPICH 4.0 may wait for ever where ranks are on several machines: see tessera_quit
// in shim.c. So there Close synchronises all ranks, waits for 0.2 s and then finalises MPI. With
// any MPI it gives up after 10 s more, with [ErrStuck], as all ranks are done then.
//
// Reference: MPI: A Message-Passing Interface Standard, version 3.1, 2015.
package mpi
