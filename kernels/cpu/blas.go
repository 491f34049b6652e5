package cpu

// BLASInfo describes the C library that this build is linked with.
type BLASInfo struct {
	// Name is "openblas" or "mkl": the build tag and the name of the
	// versions.
	Name string `json:"name"`
	// Core is the processor that the library has chosen its kernels for, as
	// OpenBLAS names it ("SkylakeX"); empty if the library does not say.
	Core string `json:"core,omitempty"`
	// Config is the library's own description of its version and build.
	Config string `json:"config,omitempty"`
	// Threads is the number of threads that one call may use.
	Threads int `json:"threads"`
}

// BLASLibraries returns the names of the C libraries that a build can have,
// each the build tag that links it in.
func BLASLibraries() []string { return []string{"openblas", "mkl"} }

// WhyNoBLAS returns the reason why this build has not the C library called
// name, one of [BLASLibraries].
func WhyNoBLAS(name string) string {
	if !cgoEnabled {
		return "built without tag " + name + ", or without cgo, which that needs"
	}
	return "built without tag " + name
}
