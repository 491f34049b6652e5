//go:build cuda && linux

package nvidia

/*
#include "shim.h"
*/
import "C"

import "fmt"

// Library is the library to which a [Code] belongs.
type Library uint8

// The libraries that have codes of errors.
const (
	Driver Library = iota
	CUBLAS
	CUSOLVER
)

// Code is an error of the driver or of a library.
type Code struct {
	Library Library
	Value   int
}

func (c Code) Error() string {
	if name := names(c.Library)[c.Value]; name != "" {
		return name
	}
	return fmt.Sprintf("code %d", c.Value)
}

// Lost reports whether the error means that the context, and so all that was
// in the device's memory, is gone.
func (c Code) Lost() bool {
	if c.Library != Driver {
		return false
	}
	switch c.Value {
	case C.CUDA_ERROR_DEINITIALIZED, C.CUDA_ERROR_DEVICE_UNAVAILABLE,
		C.CUDA_ERROR_ECC_UNCORRECTABLE, C.CUDA_ERROR_NVLINK_UNCORRECTABLE,
		C.CUDA_ERROR_ILLEGAL_ADDRESS, C.CUDA_ERROR_LAUNCH_TIMEOUT, C.CUDA_ERROR_CONTEXT_IS_DESTROYED,
		C.CUDA_ERROR_ASSERT, C.CUDA_ERROR_HARDWARE_STACK_ERROR, C.CUDA_ERROR_ILLEGAL_INSTRUCTION,
		C.CUDA_ERROR_MISALIGNED_ADDRESS, C.CUDA_ERROR_INVALID_ADDRESS_SPACE, C.CUDA_ERROR_INVALID_PC,
		C.CUDA_ERROR_LAUNCH_FAILED, C.CUDA_ERROR_UNKNOWN,
		721, 226: // of a later CUDA: tensor memory leak, contained error
		return true
	}
	return false
}

// OutOfMemory reports whether the error means that there is no memory left on
// the device.
func (c Code) OutOfMemory() bool {
	return c.Library == Driver && c.Value == C.CUDA_ERROR_OUT_OF_MEMORY
}

// NoDevice reports whether the error of [OpenDriver] means that there is a driver,
// but no device for it.
func (c Code) NoDevice() bool { return c.Library == Driver && c.Value == C.CUDA_ERROR_NO_DEVICE }

// NotReady reports whether the code is that of work which has not ended.
func (c Code) NotReady() bool { return c.Library == Driver && c.Value == C.CUDA_ERROR_NOT_READY }

// driver returns the error for a code of the driver.
func driver(r C.int) error { return code(Driver, r) }

func code(l Library, r C.int) error {
	switch {
	case r == 0:
		return nil
	case r >= C.TESSERA_OF_DRIVER:
		return Code{Driver, int(r - C.TESSERA_OF_DRIVER)}
	}
	return Code{l, int(r)}
}

// names returns the names of the codes that occur in practice. gorgonia.org/cu has
// those of the driver, except two.
func names(l Library) map[int]string {
	switch l {
	case CUBLAS:
		return map[int]string{1: "not initialized", 3: "allocation failed", 7: "invalid value", 8: "architecture mismatch",
			11: "mapping error", 13: "execution failed", 14: "internal error", 15: "not supported", 16: "license error"}
	case CUSOLVER:
		return map[int]string{1: "not initialized", 2: "allocation failed", 3: "invalid value", 4: "architecture mismatch",
			5: "mapping error", 6: "execution failed", 7: "internal error"}
	}
	return map[int]string{
		1: "InvalidValue", 2: "OutOfMemory", 3: "NotInitialized", 4: "Deinitialized", 46: "DeviceUnavailable",
		100: "NoDevice", 101: "InvalidDevice", 201: "InvalidContext", 214: "EccUncorrectable", 218: "InvalidPtx",
		220: "NvlinkUncorrectable", 222: "UnsupportedPtxVersion", 303: "SharedObjectInitFailed", 304: "OperatingSystem", 400: "InvalidHandle",
		500: "NotFound", 600: "NotReady", 700: "IllegalAddress", 702: "LaunchTimeout", 709: "ContextIsDestroyed",
		710: "Assert", 712: "HostMemoryAlreadyRegistered", 713: "HostMemoryNotRegistered", 714: "HardwareStackError",
		715: "IllegalInstruction", 716: "MisalignedAddress", 717: "InvalidAddressSpace", 718: "InvalidPc",
		719: "LaunchFailed", 801: "NotSupported", 802: "SystemNotReady", 803: "SystemDriverMismatch", 999: "Unknown",
	}
}
