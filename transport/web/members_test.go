package web

import (
	"testing"
	"time"
)

// TestOver: a node that has said that it goes is not there again by an answer that was on the way,
// but as soon as another one begins under its name.
func TestOver(t *testing.T) {
	for _, met := range []bool{false, true} {
		m, now := newMembers(), time.Now()
		if met {
			m.answered("a", "x", 1, now)
		} else {
			m.greeted("a", "x", 1, now)
		}
		m.gone("a", 1, now)
		if m.answered("a", "x", 1, now); len(m.there()) > 0 {
			t.Errorf("met %t: it is there after it has gone", met)
		}
		if m.answered("a", "x", 2, now); len(m.there()) != 1 {
			t.Errorf("met %t: another one of its name is not there", met)
		}
	}
}
