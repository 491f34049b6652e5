package web

import (
	"errors"
	"fmt"
	"time"
)

// Two nodes with one name, as of a certificate that was copied to two machines, are an error. The one
// that began first keeps the name, everywhere: by what each says of its age, as clocks differ. The
// other one is refused as long as the first one is there, which is seen as of any node: it answers, or
// refuses connections, or is silent. So one that begins anew at another address is let in as soon as it
// is clear that what it was before has ended.
//
// A node that refuses another one tells it where the first one is, and that one is greeted. When the first one has
// told it the same, it refuses others itself.

// rival is a node that has the name of another one, and was seen since.
type rival struct {
	address string
	life    uint64
	began   time.Time
	since   time.Time
}

const (
	// alike is the difference of ages that counts as none: who tells of them takes some time.
	alike = 2 * time.Second
	// ageMost is the greatest age that is believed.
	ageMost = 100 * 365 * 24 * time.Hour
)

var (
	// errOlder is why a node has left.
	errOlder = errors.New("an older node of its name is there")
	// errUndecided is what a rival is told until it is clear whether the other one is there.
	errUndecided = errors.New("another node has had that name, and may still be there")
)

// takenError says that a node has the name of another one.
type takenError struct{ name, first, second string }

func (e *takenError) Error() string {
	return fmt.Sprintf("%s is there already, at %s, and the node of that name at %s is refused: each needs a certificate, or a name, of its own", e.name, e.first, e.second)
}

// older reports whether the one of two nodes of a name began first.
func older(a, b time.Time, lifeA, lifeB uint64) bool {
	if d := a.Sub(b); d.Abs() > alike {
		return d < 0
	}
	return lifeA < lifeB
}
