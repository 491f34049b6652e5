// Package offload drives accelerators: processors with memory of their own that
// execute calls by themselves.
//
//	accelerator.go   what an accelerator has to do for a runtime
//	device.go        a [Device]: an accelerator among the workers of one runtime
//	devices.go       [Devices]: where values are, and how they come to the host
//	runtime.go       what the package needs of the runtime
//	candidates.go    tasks that wait to be started; which one is next
//	flight.go        attempts on the way
//	launch.go        the start of calls, alone or as one, and their end
//	worker.go        the goroutine that does so, a [Worker]
//
// A device's worker takes more ready tasks than it can start, asks for what they
// read, and starts those first of which most is there. It never waits for a call: it
// hears of the end of many. Which task is ready, what fails and what is tried again
// is the runtime's to say: it is asked through [Runtime] and [Attempt].
//
// A value is on the host, on a device, or on both. The order of tasks keeps a value
// from being used in two places while one writes it; so nothing here locks a value.
package offload
