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
// device. Ended returns the call when it is over. Between the two the call is a value
// of type running:
//
//	Launch   operands   gives each value an entry of the cache, and holds it there
//	         look       fails if a value to be read was lost with the device
//	         bring      finds room for all, and has values to be read copied in
//	         begin      makes the stream wait for those copies and for earlier calls
//	         run        the version enqueues its work; an event marks its end
//	   │
//	   ▼ in flight
//	poll     settle     the event is reached: written values are valid on the device
//	                    only; operands and scratch memory are released
//	   │
//	   ▼ over
//	Ended    conclude   the functions given to AtEnd run on the host
//	         report     the launch gets its times and returns to the worker
//
// If a step of Launch before run fails, abandon releases everything, and the call has
// not started. If the version itself fails, some of its work may be on the stream. Such
// a call goes through settle as others do, so its memory stays reserved until that work
// has ended. Ended does not report it.
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
// Values move one way at a time. After a copy in an entry is shared, after a call that
// writes it is modified, and after a copy out it is shared again. The order of tasks
// keeps the host from touching a value while a call uses it. The host calls Fetch or
// Flush before it touches the value. The comment of type cache says when an entry loses
// its room.
//
// Values that are not [versions.Stored] stay on the host. Versions read them when they
// are called. Functions that versions give to AtEnd may write them.
//
// # Streams and events
//
//	copies in    fill stage ─► copy ─► done ┐
//	                                        ▼
//	compute                  Wait(done) ─ begin ─ work ─ end
//	                                                     │ seen by poll
//	copies out                                           └─► copy ─► stage ─► tile
//
// Calls wait for copies in on the device, by an event, so a call can be enqueued while
// its operands travel. Copies out need no event: the host begins them only after the
// calls that write the value have ended. On one compute stream calls run in order
// without further events. With several streams, a call waits for the earlier calls that
// write its operands, and for those that read what it writes.
//
// # Goroutines and locks
//
// The worker calls Launch and Ended. Options.Movers goroutines for each direction copy.
// Any goroutine may call the other methods. Accelerator.mu guards the state of all of
// them. No goroutine waits for the device while it holds mu: pause unlocks it, yields or
// sleeps, locks it and polls. The callers of pause then check their condition again.
// Versions, functions given to AtEnd and to OnCopy, and copies between tiles and pinned
// memory run without mu. A lane's lock keeps the movers of one direction from
// interleaving what they enqueue. A goroutine takes it without holding mu.
//
// # Units
//
// Sizes, pitches and widths count bytes. Leading dimensions and strides count elements.
// The cache counts time in launches, [Event] in milliseconds.
//
// # A device that is lost
//
// After some errors a driver answers every call with an error. The accelerator then ends
// all calls in flight with that error, and marks values that only the device had as
// lost. The host's copies of all other values are good. The device stays lost: a process
// cannot open it again.
//
// # Files
//
// From the bottom up:
//
//	device.go        the interfaces of a device, its streams and events
//	real*.go         the devices of NVIDIA's driver; open.go opens them
//	sim*.go          the simulated device
//	memory_*.go      the arena of device memory, and pinned memory of the host
//	cache*.go        the state of each value, and which value is evicted
//	transfer*.go     copies between host and device
//	queue.go         what a version sees of its call
//	accelerator*.go  calls, and values between calls; see accelerator.go
package cuda
