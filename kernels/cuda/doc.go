// Package cuda runs tile operations on devices with memory of their own.
//
//	kernels/op (the versions "cuda" of the ops)
//	   │ Queue: where the operands are, the stream to enqueue on
//	   ▼
//	Accelerator: launches calls, cache of tiles, transfers ──► exec's workers
//	   │
//	   ▼
//	Device: memory, streams, events, copies, BLAS and LAPACK routines
//	   ├── simulated: always built, computes on the host after a modelled delay
//	   └── real: tag cuda, NVIDIA's driver, cuBLAS and cuSOLVER, found at run time
//
// A [Device] knows nothing of tiles, and an [Accelerator] nothing of BLAS.
// Matrices on a device are column-major, as its libraries take them: package
// kernels/op maps row-major tiles onto them.
//
// # The life of a call
//
// The worker of an accelerator hands a call to Launch, which does not wait for the
// device, and gets it back from Ended. In between it is a running:
//
//	Launch   operands   each value gets an entry of the cache, and is held there
//	         look       nothing that is read is lost
//	         bring      all have room; copies of what is read are on their stream
//	         begin      the stream waits for those copies, and for calls before
//	         run        the version enqueues its work; an event marks its end
//	   │
//	   ▼ in flight
//	poll     settle     the event is reached: what was written is the device's, the
//	                    operands are let go, scratch memory is given back
//	   │
//	   ▼ over
//	Ended    conclude   what was given to AtEnd runs on the host
//	         report     the launch has its times, and is the worker's again
//
// A step of Launch that fails gives everything back (abandon), and the call was
// never started. If the version itself fails, some of its work may be on the
// stream: the call then goes through settle like others, so that its memory stays
// its own until then, and is not reported.
//
// # The life of a value
//
// A tile that calls use has an entry in the cache, which says where its valid copy
// is:
//
//	state      on the host         on the device
//	invalid    valid               nothing, or room without contents
//	shared     valid               valid
//	modified   as it was before    valid
//
// Values move one way at a time: a copy in ends in shared, a call that writes ends
// in modified, a copy out in shared again. The order of tasks keeps the host from
// touching a value while a call uses it; Fetch and Flush bring it back before the
// host does. What becomes of an entry's room is told beside the type cache.
//
// Other values (see [versions.Stored]) stay with the host. Versions read them when
// they are called, and may write them in what they give to AtEnd.
//
// # Streams and events
//
//	copies in    fill stage ─► copy ─► done ┐
//	                                        ▼
//	compute                  Wait(done) ─ begin ─ work ─ end
//	                                                     │ seen by poll
//	copies out                                           └─► copy ─► stage ─► tile
//
// Calls wait for copies in on the device, by an event, so that a call can be
// enqueued while its operands travel. Copies out wait on the host: they are begun
// for values whose calls have ended. With one stream that computes, calls are in
// order without further events; with several, a call waits for the end of those
// that write what it uses and of those that read what it writes.
//
// # Goroutines and locks
//
// The worker calls Launch and Ended; Options.Movers goroutines for each direction
// copy; any goroutine may call the rest. Accelerator.mu guards the books of all of
// them. Nothing waits for the device under it: pause gives it up, looks for what has
// ended, and its caller looks at everything anew. Versions, functions given
// to AtEnd and to OnCopy, and copies between tiles and pinned memory run without
// it. A lane's lock keeps the movers of one direction from interleaving what they
// enqueue; it is taken without Accelerator.mu.
//
// # Units
//
// Sizes, pitches and widths are bytes, leading dimensions and strides elements.
// The cache counts time in launches, [Event] in milliseconds.
//
// # A device that is lost
//
// After some errors a driver answers every call with an error. The accelerator then
// ends all calls in flight with it, and marks what only the device had as lost; the
// host's copies of everything else are good. It stays lost: a process cannot open
// the device again.
package cuda
