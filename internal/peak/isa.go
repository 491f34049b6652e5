package peak

// ISA is the name of an instruction set that a peak is measured with: that of a table of
// kernels/cpu/native, or one of these.
type ISA string

const (
	// Best stands for the last of [Available].
	Best ISA = ""
	// Go is scalar code by the Go compiler; on arm64 and others that fuse x*y+z,
	// the scalar FMA unit's peak.
	Go ISA = "go"
)

// String returns the name, "best" for Best.
func (i ISA) String() string {
	if i == Best {
		return "best"
	}
	return string(i)
}

// loop is an FMA loop: run32 and run64 do n rounds of flops32 and flops64
// floating point operations.
type loop struct {
	isa              ISA
	flops32, flops64 int
	run32, run64     func(n int)
}
