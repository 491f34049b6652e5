package sweep

import "github.com/tessera-la/tessera/kernels/cuda"

// deviceSet is the devices that a point of a sweep has.
type deviceSet struct {
	Name    string // "none", "sim", "sim only"
	Request string
	Only    bool // the workers do only what devices cannot
}

// deviceSets returns what is compared: the workers alone, devices alone, and
// both.
func deviceSets(request string) []deviceSet {
	r, err := cuda.ParseRequest(request)
	if err != nil || r.String() == "none" {
		return []deviceSet{{Name: "none"}}
	}
	name := r.String()
	return []deviceSet{{Name: "none"}, {name + " only", name, true}, {name + " too", name, false}}
}
