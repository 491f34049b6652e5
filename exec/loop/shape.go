package loop

// Shape determines the chunks of a queue under every [Scheme].
type Shape struct {
	Items   int // items of the queue
	Workers int // workers that may take chunks; at least 1
	Grain   int // least items of a chunk, except the last one; 0 means 1
}

// Part is consecutive items whose data are at one location.
type Part struct {
	Items    int
	Location int // of the near workers: exec.Worker.Location
}

// batch returns the number of the batch of chunk i: of each batch a worker gets one chunk.
func (s Shape) batch(i int) int { return i / s.Workers }

// u converts to the type in which the schemes compute: twice the largest number of items does not
// overflow.
func u(x int) uint64 { return uint64(x) }

// ceil returns ⌈a/b⌉. It does not overflow.
func ceil(a, b uint64) uint64 {
	if a == 0 {
		return 0
	}
	return (a-1)/b + 1
}

// halved returns ⌈a/2^n⌉.
func halved(a uint64, n int) uint64 {
	if n >= 64 {
		return min(a, 1)
	}
	q := a >> n
	if q<<n != a {
		q++
	}
	return q
}
