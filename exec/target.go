package exec

import (
	"fmt"
	"os"
	"strconv"
	"sync"

	"github.com/tessera-la/tessera/internal/topo"
	"github.com/tessera-la/tessera/versions"
)

// WorkersVariable is the environment variable with the number of workers of a runtime whose options
// do not say it.
const WorkersVariable = "TESSERA_WORKERS"

const maxWorkers = 1 << 14

// DefaultWorkers returns the number of workers of a runtime whose options do not say it: the value
// of [WorkersVariable] or, if it is not set or invalid, one for each core that the process may use.
// [NewLocal] refuses an invalid value.
func DefaultWorkers() int {
	if n, err := environmentWorkers(); n > 0 && err == nil {
		return n
	}
	return topo.Here().Workers()
}

// environmentWorkers returns the value of [WorkersVariable], 0 if it is not set.
func environmentWorkers() (n int, err error) {
	s := os.Getenv(WorkersVariable)
	if s == "" {
		return 0, nil
	}
	n, err = strconv.Atoi(s)
	if err != nil || n < 1 || n > maxWorkers {
		return 0, fmt.Errorf("the environment has %s=%q, want a whole number from 1 to %d", WorkersVariable, s,
			maxWorkers)
	}
	return n, nil
}

// here is what Here returns.
var here = sync.OnceValue(func() *versions.Target { return complete(versions.Target{}, topo.Here()) })

// Here returns the target of workers on this machine as detected. All runtimes share it, since a
// selector keeps its knowledge by target. It must not be changed.
func Here() *versions.Target { return here() }

// TargetOf returns o with empty fields filled in from this machine, as Options.Target is.
func TargetOf(o versions.Target) *versions.Target { return target(&o, topo.Here()) }

// target returns o completed from m; if o is empty, the shared target of Here.
func target(o *versions.Target, m *topo.Machine) *versions.Target {
	if o.Kind == "" && o.Arch == "" && o.Processor == "" && o.Features == nil && o.Units == 0 && o.Memory == 0 &&
		o.Ops == nil {
		return here()
	}
	return complete(*o, m)
}

// complete fills the empty fields of a target from the machine. The cores of a KNL lie in pairs
// with a shared second-level cache: a worker there has two units, and a version may ask for both.
func complete(t versions.Target, m *topo.Machine) *versions.Target {
	if t.Kind == "" {
		t.Kind = "cpu"
	}
	if t.Arch == "" {
		t.Arch = m.Arch
	}
	if t.Processor == "" {
		t.Processor = m.Brand
		if m.KNL() {
			t.Processor = fmt.Sprintf("%s (KNL)", m.Brand)
		}
	}
	if t.Features == nil {
		t.Features = m.Features
	}
	if t.Units == 0 {
		t.Units = 1
		if m.KNL() {
			t.Units = 2 // a tile of the chip: two cores with one L2 cache
		}
	}
	if t.Memory == 0 {
		t.Memory = m.UsableMemory()
	}
	return &t
}
