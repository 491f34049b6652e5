package loop

import "github.com/tessera-la/tessera/internal/words"

// Layout says how many queues the items of a loop are in.
type Layout uint8

// The layouts.
const (
	Central   Layout = iota // one, for all workers
	PerSocket               // one for the workers of each NUMA node
	PerCore                 // one for each worker
)

var layouts = words.Of[Layout]{"central", "socket", "core"}

// Layouts returns all layouts.
func Layouts() []Layout { return layouts.All() }

func (l Layout) String() string { return layouts.Name(l) }

// Victim decides from which queue a worker takes a chunk when its own is empty. It takes that
// queue's next chunk, so that stolen amounts follow the scheme.
type Victim uint8

// The ways to choose a victim. None returns to a queue that it has found empty.
const (
	SeqPri Victim = iota // the next queue, in turn, first of those on the same NUMA node
	Seq                  // the next queue, in turn
	RndPri               // any queue, first of those on the same NUMA node
	Rnd                  // any queue
)

var victims = words.Of[Victim]{"seqpri", "seq", "rndpri", "rnd"}

// Victims returns all ways to choose a victim.
func Victims() []Victim { return victims.All() }

func (v Victim) String() string { return victims.Name(v) }
