package la

import "context"

// substituteVector solves for one right-hand side by solve, unless somebody could see that no task does it. It returns
// false without an error, and leaves dst as it is, if e is not plain, a vector is not in memory or not plain, or
// condition has an error. So which way a solution takes does not depend on what was computed before.
//
// b has rows elements, and dst cols. solve gets a vector of the larger number, with b's elements first, and leaves dst's first.
func substituteVector[T Element](ctx context.Context, e *Engine, rows, cols int, dst VectorSink[T], b VectorSource[T],
	condition func(context.Context) error, solve func(*substitution[T], [][]T) error) (done bool, err error) {
	var to, from memory[T]
	if !e.Plain(ctx, 1) || !vectorsOf(cols, dst, &to, rows, b, &from) {
		return false, nil
	}
	d := takeDesk[T]()
	defer d.leave()
	d.x = atLeast(d.x, max(rows, cols))
	x, ok := d.right(&from)
	if !ok || condition(ctx) != nil {
		return false, nil
	}
	x = d.x[:max(rows, cols)]
	clear(x[rows:])
	d.triangles.ctx, d.triangles.engine, d.one[0] = ctx, e, x
	if err := solve(d.triangles, d.one[:]); err != nil {
		return false, err
	}
	return deliverPlain(x, &to), nil
}
