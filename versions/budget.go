package versions

import "sync/atomic"

// share is the part of a job's time that exploring may be expected to cost. Even if an unknown
// version is four times dearer than guessed, the job takes no more than a third longer.
const share = 1.0 / 12

// Budget bounds the time that a job loses by exploring versions, as a part of the time that it has
// taken so far. It is safe for concurrent use and must not be copied.
type Budget struct {
	// Elapsed returns the seconds since the job began.
	Elapsed func() float64

	spent atomic.Int64 // nanoseconds
}

// spare returns the seconds that may be lost now; a nil budget has none.
func (b *Budget) spare() float64 {
	if b == nil {
		return 0
	}
	return share*b.Elapsed() - float64(b.spent.Load())/1e9
}

// spend takes seconds out of the budget, or puts some back.
func (b *Budget) spend(seconds float64) {
	if b != nil {
		b.spent.Add(int64(seconds * 1e9))
	}
}
