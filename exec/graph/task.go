package graph

import "time"

// Constraints returns the Spec's, nil if there are none.
func (t *Task) Constraints() any {
	if t.extras == nil {
		return nil
	}
	return t.extras.constraints
}

// Witness returns the Spec's, nil if there is none.
func (t *Task) Witness() Witness {
	if t.extras == nil {
		return nil
	}
	return t.extras.witness
}

// Failure returns the Spec's, nil if there is none.
func (t *Task) Failure() *Failure {
	if t.extras == nil {
		return nil
	}
	return t.extras.failure
}

// Local returns the Spec's, nil if there is none.
func (t *Task) Local() any {
	if t.extras == nil {
		return nil
	}
	return t.extras.local
}

// Keep stores v with the task until its end, for the runtime: what another attempt has to start
// from. The task must have a Failure.
func (t *Task) Keep(v any) { t.extras.kept = v }

// Kept returns what [Task.Keep] was given, or nil.
func (t *Task) Kept() any {
	if t.extras == nil {
		return nil
	}
	return t.extras.kept
}

// nextFree is the next task on a list of reusable ones. It uses a field of a version that is dead.
func (t *Task) nextFree() **Task { return &t.own[0].out.task }

// ID returns the task's number.
func (t *Task) ID() TaskID { return t.id }

// Graph returns the graph that the task belongs to.
func (t *Task) Graph() *Graph { return t.graph }

// State returns the task's state. Like the other methods it is for the code that owns the task.
func (t *Task) State() State { return State(t.state) }

// SetState records a transition that the runtime decides: to Running, and
// back to Ready for another attempt.
func (t *Task) SetState(s State) { t.state = uint8(s) }

// Added returns when the task was added, by [Graph.Clock]; 0 without a clock.
func (t *Task) Added() time.Duration { return t.added }

// ReadyAt returns when the task became ready; 0 without a clock.
func (t *Task) ReadyAt() time.Duration { return t.ready }

// SetReadyAt notes when the task became ready, for the runtime.
func (t *Task) SetReadyAt(at time.Duration) { t.ready = at }

// Tainted returns the fault of a tainted input, nil if there is none. It is final once the task is
// ready.
func (t *Task) Tainted() *Fault { return t.tainted.Load() }

// Len returns the number of operands.
func (t *Task) Len() int { return len(t.uses) }

// Operand returns operand i, its mode joined with that of an earlier operand
// if both are the same datum.
func (t *Task) Operand(i int) Operand {
	u := t.first(i)
	return Operand{u.datum, u.mode}
}

// Gave reports whether the task has finished with some operand before its end: see [Graph.Give].
func (t *Task) Gave() bool {
	for i := range t.uses {
		if t.uses[i].given.Load() {
			return true
		}
	}
	return false
}

// Given reports whether the task has finished with operand i before its end.
func (t *Task) Given(i int) bool { return t.first(i).given.Load() }

// Shadowed reports whether an operand is renamed or reduced: then its value may
// be another one than the datum's.
func (t *Task) Shadowed() bool {
	if !t.special {
		return false
	}
	for i := range t.uses {
		if u := t.first(i); u.special && (u.mode == Reduce || u.datum.special.renew != nil) {
			return true
		}
	}
	return false
}

// Watch returns the Watch that the task stands for, nil for a task that was
// added with [Graph.Add].
func (t *Task) Watch() *Watch {
	if !t.odd {
		return nil
	}
	w, _ := t.Params.(*Watch)
	return w
}

// fence returns the fence that the task is, nil for others.
func (t *Task) fence() *fence {
	if !t.odd {
		return nil
	}
	f, _ := t.Params.(*fence)
	return f
}

// Used notes that the task has accessed its operands at a location, except those that it had
// finished with before. Data that it has read are there too from now on, and data that it has
// written are there only. fixed are the locations that share one memory, the NUMA nodes of a host:
// in it a value stays where it was touched first.
func (t *Task) Used(location int, fixed Locations) {
	for i := range t.uses {
		if u := &t.uses[i]; u.mode != 0 && !u.given.Load() {
			u.datum.used(u.mode, location, fixed)
		}
	}
}

// UsedOperand is [Task.Used] for operand i alone.
func (t *Task) UsedOperand(i, location int, fixed Locations) {
	u := t.first(i)
	u.datum.used(u.mode, location, fixed)
}

// BytesAt returns how many bytes of what the task reads are at a location.
func (t *Task) BytesAt(location int) (bytes int64) {
	for i := range t.uses {
		if u := &t.uses[i]; u.mode&In != 0 && u.datum.At().Has(location) {
			bytes += u.datum.Bytes
		}
	}
	return bytes
}

// Values appends [Task.Value] of each operand to values.
func (t *Task) Values(values []any) []any {
	for i := range t.uses {
		if t.special {
			values = append(values, t.Value(i))
		} else {
			values = append(values, t.uses[i].datum.Value)
		}
	}
	return values
}

// Value returns the value of operand i's datum. It panics if Reduction.New does.
func (t *Task) Value(i int) any {
	u := &t.uses[i]
	if !t.special {
		return u.datum.Value
	}
	if u = t.first(i); !u.special {
		return u.datum.Value
	}
	return t.graph.value(u)
}

// first returns the use that stands for operand i: that of an earlier operand if
// both are the same datum.
func (t *Task) first(i int) *use {
	u := &t.uses[i]
	for k := 0; u.mode == 0 && k < i; k++ {
		if t.uses[k].datum == u.datum {
			u = &t.uses[k]
		}
	}
	return u
}
