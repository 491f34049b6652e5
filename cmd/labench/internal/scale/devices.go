package scale

import "github.com/tessera-la/tessera/kernels/cuda"

// deviceSet is the devices of a point of a sweep.
type deviceSet struct {
	Name    string // "none", "sim", "sim only"
	Request string
	Only    bool // workers execute only what devices cannot
}

// deviceSets returns the sets to compare: the workers alone, the devices alone, and both.
func deviceSets(request string) []deviceSet {
	r, err := cuda.ParseRequest(request)
	if err != nil || r.String() == "none" {
		return []deviceSet{{Name: "none"}}
	}
	name := r.String()
	return []deviceSet{{Name: "none"}, {name + " only", name, true}, {name + " too", name, false}}
}
