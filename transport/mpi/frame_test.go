package mpi

import (
	"bytes"
	"testing"
)

// FuzzFrame: what parse takes is what encode writes, and it takes nothing with a changed byte.
func FuzzFrame(f *testing.F) {
	for _, x := range []frame{
		{kind: kindHello},
		{kind: kindBeat, handled: 3, bytes: 1 << 40},
		{kind: kindMessage, payload: []byte("a message")},
		{kind: kindWant, id: 1, n: 5e9, payload: make([]byte, refBytes)},
		{kind: kindPart, last: true, id: fetches, sum: 7, n: 1 << 33, payload: []byte("head")},
		{kind: kindFailed, id: 2, payload: []byte("why")},
	} {
		f.Add(x.encode(), uint16(9))
	}
	f.Fuzz(func(t *testing.T, b []byte, at uint16) {
		x, err := parse(b)
		if err != nil {
			return
		}
		if again := x.encode(); !bytes.Equal(again, b) {
			t.Errorf("%x becomes %x", b, again)
		}
		b[int(at)%len(b)] ^= 1 << (at % 8)
		if _, err := parse(b); err == nil {
			t.Errorf("%x is taken, with bit %d changed", b, at)
		}
	})
}

// TestCredit: a node may have so much on the way, whatever the other side claims.
func TestCredit(t *testing.T) {
	var out outgoing
	var in incoming
	for range 10 * window {
		for out.room() {
			out.add(roomBytes / 8)
			if in.add(roomBytes / 8) {
				if done, bytes := in.tell(); !out.handled(done, bytes) {
					t.Fatal("what was handled is no news")
				}
			}
			if out.sent > 1000 {
				return
			}
		}
		t.Fatalf("no room after %d messages, of which %d were handled and told", out.sent, in.told)
	}
	for _, claim := range [][2]uint64{{out.sent + 1, out.sentBytes}, {out.sent, out.sentBytes + 1}, {out.done, out.doneBytes}} {
		if out.handled(claim[0], claim[1]) {
			t.Errorf("%d messages of %d bytes: that is believed", claim[0], claim[1])
		}
	}
}
