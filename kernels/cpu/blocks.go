package cpu

import "fmt"

// Blocks are the sizes, in elements, of the blocks in which a [Packed] goes
// through a product: MC×KC of op(A), KC×NC of op(B). A zero field stands for
// what follows from the caches.
type Blocks struct{ MC, KC, NC int }

// maxBlock keeps the scratch of a product, KC·(MC+NC) elements, within reason.
const maxBlock = 1 << 14

// Validate reports every field that is negative or larger than 16384.
func (b Blocks) Validate() error {
	var bad []string
	for _, f := range []struct {
		name string
		n    int
	}{{"MC", b.MC}, {"KC", b.KC}, {"NC", b.NC}} {
		if f.n < 0 || f.n > maxBlock {
			bad = append(bad, fmt.Sprintf("%s is %d, want 0 to %d", f.name, f.n, maxBlock))
		}
	}
	if bad != nil {
		return &BlocksError{Problems: bad}
	}
	return nil
}

// BlocksError lists everything that is wrong with a [Blocks].
type BlocksError struct{ Problems []string }

func (e *BlocksError) Error() string {
	msg := "cpu: invalid blocks"
	sep := ": "
	for _, p := range e.Problems {
		msg, sep = msg+sep+p, "; "
	}
	return msg
}

// Blocks returns the sizes of p's blocks.
func (p *Packed[T]) Blocks() Blocks { return Blocks{MC: p.MC, KC: p.KC, NC: p.NC} }

// WithBlocks returns p with the fields of b that are not zero, rounded up to
// whole panels: MC to a multiple of MR and NC to one of NR. Results depend on
// KC, which decides how sums over k are cut, in their last bits. It panics if
// b is not valid.
func (p *Packed[T]) WithBlocks(b Blocks) *Packed[T] {
	if err := b.Validate(); err != nil {
		panic(err)
	}
	q := *p
	if b.MC > 0 {
		q.MC = roundUp(b.MC, p.MR)
	}
	if b.KC > 0 {
		q.KC = b.KC
	}
	if b.NC > 0 {
		q.NC = roundUp(b.NC, p.NR)
	}
	if p.vectors.run == nil {
		q.Leaf = min(q.Leaf, q.MC, q.KC, q.NC)
	}
	return &q
}
