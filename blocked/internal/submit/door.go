package submit

import "github.com/tessera-la/tessera/blocked/tiles"

// Door is embedded in a blocked.Program, so that [Of] finds the Tasks of the Program, and programs that
// use blocked see neither.
type Door[T tiles.Element] struct{ tasks *Tasks[T] }

// NewDoor returns a Door to p.
func NewDoor[T tiles.Element](p *Tasks[T]) Door[T] { return Door[T]{p} }

func (d Door[T]) inside() *Tasks[T] { return d.tasks }

// Of returns the Tasks of p, a *blocked.Program[T].
func Of[T tiles.Element](p interface{ inside() *Tasks[T] }) *Tasks[T] { return p.inside() }
