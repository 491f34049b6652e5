package web

import (
	"bytes"
	"errors"
	"io"
	"testing"
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
	a := make([]byte, answerBytes)
	putAnswer(a, 1<<40+5)
	if taken, err := readAnswer(bytes.NewReader(a), make([]byte, answerBytes)); taken != 1<<40+5 || err != nil {
		t.Errorf("%d, %v", taken, err)
	}
	for i := range 8 * len(b) {
		var wrong *frameError
		b[i/8] ^= 1 << (i % 8)
		if _, _, err := readFrame(bytes.NewReader(b), head); !errors.As(err, &wrong) {
			t.Errorf("bit %d of a frame: %v", i, err)
		}
		b[i/8] ^= 1 << (i % 8)
		if i >= 8*len(a) {
			continue
		}
		a[i/8] ^= 1 << (i % 8)
		if _, err := readAnswer(bytes.NewReader(a), make([]byte, answerBytes)); !errors.As(err, &wrong) {
			t.Errorf("bit %d of an answer: %v", i, err)
		}
		a[i/8] ^= 1 << (i % 8)
	}
}
