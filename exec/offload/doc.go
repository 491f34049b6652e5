// Package offload drives accelerators: processors with memory of their own that execute calls by
// themselves.
//
//	accelerator.go   the interface of an accelerator
//	device.go        a [Device]: an accelerator as a worker of one runtime
//	devices.go       [Devices]: where values are, and how they come to the host
//	runtime.go       what the package needs of the runtime
//	candidates.go    tasks that wait to be started; which one is next
//	flight.go        attempts in flight
//	launch.go        the start of calls, alone or in batches, and their end
//	worker.go        the goroutine of a device's [Worker]
//
// A device's worker takes more ready tasks than it can start, prefetches their operands, and starts
// those first whose operands are there. It never waits for one call: it learns of the ends of many.
// The runtime decides which task is ready, what fails and what is retried: the worker asks it
// through [Runtime] and [Attempt].
//
// A value is on the host, on a device, or on both. The order of tasks prevents that a value is used
// in two places while a task writes it; so nothing here locks a value.
package offload
