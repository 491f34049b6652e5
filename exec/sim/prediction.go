package sim

// Prediction is the cost of a runtime's tasks since it was made, or since its last Reset.
type Prediction struct {
	Seconds float64 `json:"seconds"`
	Tasks   int     `json:"tasks"`
	Work    float64 `json:"work"`             // in units of the ops, for linear algebra flops
	Moved   int64   `json:"bytes_moved"`      // from node to node
	Nodes   []Tally `json:"nodes"`            // the driver first
	Losses  *Losses `json:"losses,omitempty"` // nil if Machine.Failures has none
}

// Losses counts lost nodes and data, and the tasks that computed them again.
type Losses struct {
	Nodes int   `json:"nodes"`
	Tasks int   `json:"tasks_given_anew"` // that lost nodes had
	Data  int   `json:"data"`             // lost data that were computed again,
	Bytes int64 `json:"bytes"`            // their bytes,
	Again int   `json:"tasks_again"`      // and the tasks for that
}

// Sum returns the sum over all nodes, with the largest Peak.
func (p *Prediction) Sum() (sum Tally) {
	for _, t := range p.Nodes {
		sum.add(&t)
	}
	return sum
}

func (sum *Tally) add(t *Tally) {
	sum.Tasks += t.Tasks
	sum.Work += t.Work
	sum.Busy += t.Busy
	sum.Starving += t.Starving
	sum.Throttled += t.Throttled
	sum.Driver += t.Driver
	sum.Idle += t.Idle
	sum.Far += t.Far
	sum.In += t.In
	sum.Out += t.Out
	sum.OnDevices += t.OnDevices
	sum.DevicesIn += t.DevicesIn
	sum.DevicesOut += t.DevicesOut
	sum.Peak = max(sum.Peak, t.Peak)
}

// Prediction returns the cost of the tasks so far.
func (w *world) Prediction() *Prediction {
	p := &Prediction{Seconds: w.now - w.since}
	for _, c := range w.crews {
		c.measure()
		if c.slot < len(p.Nodes) { // a node that has come back
			p.Nodes[c.slot].add(&c.tally)
		} else {
			p.Nodes = append(p.Nodes, c.tally)
		}
	}
	sum := p.Sum()
	p.Tasks, p.Work, p.Moved = sum.Tasks, sum.Work, sum.In
	return p
}

// Reset starts the counts anew. Values stay on their nodes. No job may be under way.
func (w *world) Reset() {
	w.since = w.now
	for _, c := range w.crews {
		c.measure()
		c.tally = Tally{Peak: c.held}
	}
	if w.rec != nil {
		w.rec = &recorder{}
	}
}
