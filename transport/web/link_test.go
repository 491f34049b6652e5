package web

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"
)

// readFrame reads a frame.
func readFrame(r io.Reader, head []byte) (turn uint64, message []byte, err error) {
	turn, length, err := readHead(r, head)
	if err == nil {
		message, err = readMessage(r, head, length, func() error { return nil })
	}
	return turn, message, err
}

// TestFrameDamaged: a frame or an answer with a wrong bit is noticed, wherever that is, and nobody
// waits for more than there is.
func TestFrameDamaged(t *testing.T) {
	b, head := frame(1<<40+5, []byte("a message")), make([]byte, frameHead)
	if turn, m, err := readFrame(bytes.NewReader(b), head); turn != 1<<40+5 || string(m) != "a message" || err != nil {
		t.Errorf("%d, %q, %v", turn, m, err)
	}
	for _, n := range []int{answerBytes, answerLong} {
		answerDamaged(t, make([]byte, n))
	}
	for i := range 8 * len(b) {
		var wrong *frameError
		b[i/8] ^= 1 << (i % 8)
		if _, _, err := readFrame(bytes.NewReader(b), head); !errors.As(err, &wrong) {
			t.Errorf("bit %d of a frame: %v", i, err)
		}
		b[i/8] ^= 1 << (i % 8)
	}
}

func answerDamaged(t *testing.T, a []byte) {
	putAnswer(a, 1<<40+5, 7)
	moved := uint64(0)
	if len(a) == answerLong {
		moved = 7
	}
	if taken, m, err := readAnswer(bytes.NewReader(a), make([]byte, len(a))); taken != 1<<40+5 || m != moved || err != nil {
		t.Errorf("%d, %d, %v", taken, m, err)
	}
	for i := range 8 * len(a) {
		var wrong *frameError
		a[i/8] ^= 1 << (i % 8)
		if _, _, err := readAnswer(bytes.NewReader(a), make([]byte, len(a))); !errors.As(err, &wrong) {
			t.Errorf("bit %d of an answer: %v", i, err)
		}
		a[i/8] ^= 1 << (i % 8)
	}
}

// TestMoving: nothing moves if the other side waits, what was sent does not come, and that goes on.
func TestMoving(t *testing.T) {
	var m moving
	now := time.Unix(0, 0)
	for i, x := range []struct {
		taken, moved uint64
		sent         bool
		want         time.Duration
	}{
		{1, 10 | waitsBit, true, 0},
		{1, 10 | waitsBit, true, time.Second},
		{1, 10 | waitsBit, true, 2 * time.Second},
		{1, 11 | waitsBit, true, 0}, // a byte has come
		{1, 11 | waitsBit, true, time.Second},
		{1, 11, true, 0}, // it handles a message
		{1, 11, true, 0},
		{1, 11 | waitsBit, true, 0},
		{1, 11 | waitsBit, false, 0}, // nothing was sent
		{1, 11 | waitsBit, true, time.Second},
		{2, 11 | waitsBit, true, 0}, // it has taken one
	} {
		if got := m.stalled(x.taken, x.moved, x.sent, now); got != x.want {
			t.Errorf("answer %d: nothing has moved for %v, want %v", i, got, x.want)
		}
		now = now.Add(time.Second)
	}
}
