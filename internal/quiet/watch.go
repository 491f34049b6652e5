package quiet

import (
	"io/fs"
	"os"
	"time"

	"github.com/tessera-la/tessera/internal/topo"
)

// Watch observes the load during a measurement.
type Watch struct {
	root    fs.FS
	own     func() (seconds float64, ok bool) // CPU time of this process; that of its children is in root
	allowed topo.CPUSet
	begin   time.Time
	from    counters
	mine    float64
	ok      bool
}

// Start begins a Watch.
func Start() *Watch {
	return start(os.DirFS("/"), topo.Here().Allowed, OwnTime)
}

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

// Stop returns the load since Start. It may be called again. It returns false if the load is unknown or the
// time was too short.
func (w *Watch) Stop() (Load, bool) { return w.stop(time.Since(w.begin).Seconds()) }

func (w *Watch) stop(seconds float64) (Load, bool) {
	const shortest = 0.1
	if !w.ok || seconds < shortest {
		return Load{}, false
	}
	mine, counted := w.taken()
	now, ok := readStat(w.root, w.allowed)
	if !counted || !ok {
		return Load{}, false
	}
	// Two counters in hundredths of a second may differ by one for each CPU.
	slack := float64(len(w.allowed)) / userHZ
	others := now.busy - w.from.busy - (mine - w.mine)
	steal := now.steal - w.from.steal
	// Others cannot have had more CPU time than there is.
	rate := func(x float64) float64 { return min(max(x-slack, 0)/seconds, float64(len(w.allowed))) }
	return Load{Seconds: seconds, CPUs: len(w.allowed), Others: rate(others), Steal: rate(steal)}, true
}

// Quietly calls measure, and again, up to two times, if something else disturbed the given number of workers
// meanwhile. It returns the least load of the calls, and whether all of them were disturbed. The caller keeps
// the best result. An error of measure ends it.
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
