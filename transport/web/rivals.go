package web

import (
	"errors"
	"fmt"
	"time"
)

// Two nodes with one name, for example by a copied certificate, are an error. Everywhere the one
// that began first keeps the name, by the age that each states, since clocks differ. The other one
// is refused while the first one is there, which shows as for any node: it answers, refuses
// connections, or is silent. So a node that begins anew at another address is admitted as soon as
// its former life has ended.
//
// A node that refuses another one tells it the address of the first one, which the refused node
// greets. When the first one refuses it, too, it refuses others itself.

// rival is a node with the name of another one.
type rival struct {
	address string
	life    uint64
	began   time.Time
	since   time.Time
}

const (
	// alike is the difference of ages that counts as none, because stating them takes some time.
	alike = 2 * time.Second
	// ageMost is the greatest credible age.
	ageMost = 100 * 365 * 24 * time.Hour
)

var (
	// errOlder is the reason of a leaving.
	errOlder = errors.New("an older node of its name is there")
	// errUndecided is the answer to a rival until it is clear whether the other node is there.
	errUndecided = errors.New("another node has had that name, and may still be there")
)

// takenError says that a node has the name of another one.
type takenError struct{ name, first, second string }

func (e *takenError) Error() string {
	return fmt.Sprintf("%s is there already, at %s, and the node of that name at %s is refused: each needs a certificate, or a name, of its own", e.name, e.first, e.second)
}

// older reports whether node A of two nodes of a name began first.
func older(a, b time.Time, lifeA, lifeB uint64) bool {
	if d := a.Sub(b); d.Abs() > alike {
		return d < 0
	}
	return lifeA < lifeB
}
