package qr

// How many tasks algorithms submit, which tests hold them to.

// Tasks returns the number of tasks that [Geqrf] submits.
func (q *Rotations[T]) Tasks() int {
	n := q.plan.tasks()
	for k, steps := range q.plan.columns {
		for _, s := range steps {
			if s.kind == qrTriangle && k+1 < q.plan.nt {
				n++ // the copy of its V
			}
		}
	}
	return n
}

// ApplyTasks returns the number of tasks that [Ormqr] submits for a
// matrix that is lines tiles wide (from the left) or high (from the right).
func (q *Rotations[T]) ApplyTasks(lines int) int { return q.plan.steps() * lines }

// ColumnTasks returns the number of tasks that [Orgqr] submits for a
// matrix of nt tile columns.
func (q *Rotations[T]) ColumnTasks(nt int) int {
	n := q.plan.mt * nt // the identity
	for k, steps := range q.plan.columns {
		n += len(steps) * max(0, nt-k)
	}
	return n
}

// steps returns the number of steps in all columns.
func (p *qrPlan) steps() int {
	n := 0
	for _, steps := range p.columns {
		n += len(steps)
	}
	return n
}
