package loop_test

import (
	"bytes"
	"runtime"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/loop"
)

// goroutine returns the words that begin the calling goroutine's stack, of which the second is
// its number.
func goroutine() string {
	line := make([]byte, 64)
	return string(bytes.Join(bytes.Fields(line[:runtime.Stack(line, false)])[:2], nil))
}

// TestForLong: the caller takes no part where the last call at the site took long.
func TestForLong(t *testing.T) {
	rt := start(t, exec.Options{Workers: 2})
	opt := loop.Options{Site: new(loop.Site)}
	for call := range 4 {
		time.Sleep(3 * time.Millisecond) // workers sleep
		var who string
		if err := loop.For(t.Context(), rt, 1, opt, func(loop.Chunk) error {
			who = goroutine()
			time.Sleep(25 * time.Millisecond)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if call > 0 && who == goroutine() {
			t.Errorf("call %d is executed by its caller", call)
		}
	}
}
