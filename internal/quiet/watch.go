package quiet

import (
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/tessera-la/tessera/internal/topo"
)

// Watch is a measurement under way.
type Watch struct {
	root    fs.FS
	own     func() (seconds float64, ok bool) // of CPU time of this process; its children are in root
	allowed topo.CPUSet
	begin   time.Time
	from    counters
	mine    float64
	ok      bool
}

// Start begins to watch.
func Start() *Watch {
	return start(os.DirFS("/"), allowed(), OwnTime)
}

// allowed returns the CPUs that this process may use: reading them takes a hundred small
// files, so that it is done once.
var allowed = sync.OnceValue(func() topo.CPUSet { return topo.Detect().Allowed })

func start(root fs.FS, allowed topo.CPUSet, own func() (float64, bool)) *Watch {
	w := &Watch{root: root, own: own, allowed: allowed}
	var counted bool
	w.from, w.ok = readStat(root, allowed)
	w.mine, counted = w.taken()
	w.ok = w.ok && counted
	w.begin = time.Now()
	return w
}

// taken returns the CPU time of this process and its children.
func (w *Watch) taken() (seconds float64, ok bool) {
	seconds, ok = w.own()
	return seconds + readChildren(w.root, os.Getpid()), ok
}

// Lasts returns the time since Start.
func (w *Watch) Lasts() time.Duration { return time.Since(w.begin) }

// Stop returns what went on since Start; it may be called again. It returns false if that is
// unknown, or the time was too short.
func (w *Watch) Stop() (Load, bool) { return w.stop(time.Since(w.begin).Seconds()) }

func (w *Watch) stop(seconds float64) (Load, bool) {
	const shortest = 0.1
	mine, counted := w.taken()
	now, ok := readStat(w.root, w.allowed)
	if !w.ok || !counted || !ok || seconds < shortest {
		return Load{}, false
	}
	// Two counters of hundredths may disagree by one for each CPU.
	slack := float64(len(w.allowed)) / userHZ
	others := now.busy - w.from.busy - (mine - w.mine)
	steal := now.steal - w.from.steal
	// Nor can anybody have had more than there is.
	rate := func(x float64) float64 { return min(max(x-slack, 0)/seconds, float64(len(w.allowed))) }
	return Load{Seconds: seconds, CPUs: len(w.allowed), Others: rate(others), Steal: rate(steal)}, true
}

// Quietly calls measure and, as long as something else disturbs so many workers meanwhile, up
// to two times more. It returns the least load of the calls, and whether all were disturbed.
// The caller keeps the best of what they have measured. An error of measure ends it.
func Quietly(workers int, measure func() error) (least Load, disturbed bool, err error) {
	return quietly(workers, measure, Start)
}

func quietly(workers int, measure func() error, start func() *Watch) (least Load, disturbed bool, err error) {
	for i := range 3 {
		w := start()
		if err := measure(); err != nil {
			return Load{}, false, err
		}
		l, ok := w.Stop()
		if !ok || !l.Disturbs(workers) {
			return l, false, nil
		}
		if i == 0 || l.Others+l.Steal < least.Others+least.Steal {
			least = l
		}
	}
	return least, true, nil
}
