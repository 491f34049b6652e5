package csr

import (
	"sync"

	"github.com/tessera-la/tessera/exec/loop"
)

// workspace is what a Matrix keeps from one iteration to the next.
type workspace struct {
	vectors sync.Pool // of *[]float64: vectors of iterations that have ended
	add     loop.Site // of Axpby
	dot     loop.Site // of Dot
	addDot  loop.Site // of AxpbyDot
	mulDot  loop.Site // of MulVecDot

	once    sync.Once
	aligned []int // starts at multiples of alignment, and the end
}
