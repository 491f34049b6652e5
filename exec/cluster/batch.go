package cluster

// batch is the tasks that go to a node in one message, with their operands.
type batch struct {
	tasks    []task
	operands []operand
	sent     *batch // memory of the previous batch
	pending  bool   // the outbox has a message for it
}

// add adds a task with room for the given number of operands.
func (b *batch) add(x task, operands int) *task {
	n := len(b.operands)
	if n+operands > cap(b.operands) {
		n = 0
		b.operands = make([]operand, 0, max(64, 2*cap(b.operands), operands))
	}
	b.operands = b.operands[:n+operands]
	x.Operands = b.operands[n : n : n+operands]
	b.tasks = append(b.tasks, x)
	return &b.tasks[len(b.tasks)-1]
}

// take empties the batch and returns its tasks. If reuse is set, tasks that are added after the next
// call may overwrite their memory.
func (b *batch) take(reuse bool) []task {
	old := batch{tasks: b.tasks, operands: b.operands}
	*b = batch{sent: b.sent}
	if reuse && b.sent != nil {
		b.tasks, b.operands = b.sent.tasks[:0], b.sent.operands[:0]
		*b.sent = old
	} else if reuse {
		b.sent = &old
	}
	return old.tasks
}
