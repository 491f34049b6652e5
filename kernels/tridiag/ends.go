package tridiag

import "github.com/tessera-la/tessera/internal/scalar"

// ends is the number of elements of each eigenvector that [Values] keeps: the first and the last one of both parts of a
// merge. The elements of a part that is solved are in columns 0 and 1.
const ends = 4

// Values overwrites d with the eigenvalues of T in ascending order. d has n elements and e has n−1; e is overwritten.
// work holds at least [WorkValues] elements. The result has the same bits for any crew.
//
// It is [Stedc] with no more of the eigenvectors than the next merge reads, their first and last elements. So it takes
// some n² operations, most of them for secular equations, which [Sterf] does one after the other.
//
// Elements must be finite. If the iteration of a leaf does not converge, the error is a *ConvergenceError. After an
// error the results are undefined.
//
// Reference: Gu and Eisenstat, A divide-and-conquer algorithm for the symmetric tridiagonal eigenproblem (1995),
// section 5.
func Values[T scalar.Real](d, e, work []T, tools Tools[T], crew Crew[T]) error {
	n := len(d)
	if n < 2 {
		return nil
	}
	q := Matrix[T]{Rows: n, Cols: ends, Stride: ends, Data: work[:ends*n]}
	work = work[ends*n:]
	clear(q.Data)
	t := tear(d, e)
	if err := t.solve(crew, tools.Rotate, func(lo, order int) Matrix[T] {
		q.Row(lo)[0], q.Row(lo + order - 1)[1] = 1, 1
		return q.Block(lo, 0, order, 2)
	}); err != nil {
		return err
	}
	scratch := func(order int) int { return tools.Work(max(order, ends)) + MergeScratch(order) }
	if err := t.Merge(crew, tools.Stop, scratch, func(part Node, root bool, crew Crew[T]) {
		lo, size := part.Lo, part.Hi-part.Lo
		rows := q.Block(lo, 0, size, ends)
		for i := range size {
			x := rows.Row(i)
			if x[2], x[3] = 0, 0; i >= part.Cut-lo {
				x[0], x[1], x[2], x[3] = 0, 0, x[0], x[1]
			}
		}
		m := merger[T]{NewMerge(size, tools, crew)}
		m.Bare = root
		m.run(part.Cut-lo, ends/2, e[part.Cut-1], d[lo:part.Hi], t.sorted[lo:part.Hi], rows,
			work[lo*MergeWork(n, ends):], nil)
		for i := range size {
			rows.Row(i)[1] = rows.Row(i)[3]
		}
	}); err != nil {
		return err
	}
	values := work[:n]
	t.values(values)
	copy(d, values)
	return nil
}

// WorkValues returns the number of elements of work space that [Values] needs for order n.
func WorkValues(n int) int { return (ends + MergeWork(n, ends)) * n }
