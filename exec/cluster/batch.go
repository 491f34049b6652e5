package cluster

// batch is tasks that are to go to a node in one message, and the operands of all of them.
type batch struct {
	tasks    []task
	operands []operand
	sent     *batch // memory of the one before
	pending  bool   // it is going to be sent
}

// add adds a task with room for so many operands.
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

// take empties the batch, and returns what was in it. If its memory is to be used again, that is
// so from the next call on.
func (b *batch) take(again bool) []task {
	old := batch{tasks: b.tasks, operands: b.operands}
	*b = batch{sent: b.sent}
	if again && b.sent != nil {
		b.tasks, b.operands = b.sent.tasks[:0], b.sent.operands[:0]
		*b.sent = old
	} else if again {
		b.sent = &old
	}
	return old.tasks
}
