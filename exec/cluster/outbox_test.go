package cluster

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tessera-la/tessera/transport"
)

// line is a transport that sends a message for each error, or nil, that it is given.
type line struct {
	away
	prompt atomic.Bool
	may    chan error
	left   atomic.Bool // a message was given up

	mu   sync.Mutex
	sent []string
}

func (l *line) Prompt(string) bool { return l.prompt.Load() }

func (l *line) Send(ctx context.Context, _ string, m []byte) error {
	select {
	case err := <-l.may:
		time.Sleep(time.Second) // in which who is not held up goes on
		l.mu.Lock()
		defer l.mu.Unlock()
		l.sent = append(l.sent, string(m))
		return err
	case <-ctx.Done():
		time.Sleep(time.Second)
		l.left.Store(true)
		return context.Cause(ctx)
	}
}

// rest waits until nobody has anything to do.
func rest() {
	time.Sleep(time.Hour)
	synctest.Wait()
}

// so returns what was sent.
func (l *line) so() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.sent)
}

// TestFlush: who flushes an outbox has sent the message when it returns, unless it would have to wait.
// Messages stay in order, though several goroutines send them.
func TestFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &line{may: make(chan error, 10)}
		o := newOutbox(l, "node", func(err error) { t.Error(err) })
		defer o.close()
		say := func(m string) func() []byte { return func() []byte { return []byte(m) } }
		l.prompt.Store(true)
		l.may <- nil
		if o.flush(say("a")); !slices.Equal(l.so(), []string{"a"}) {
			t.Errorf("%v are sent when a has been flushed", l.so())
		}
		// A thread is held up by b, which it sends; others are not.
		go o.flush(say("b"))
		rest()
		o.add(say("c"))
		o.flush(say("d"))
		o.add(func() []byte { return nil })
		l.may <- nil
		rest()
		if !slices.Equal(l.so(), []string{"a", "b"}) { // or c was sent beside b
			t.Errorf("%v are sent when b may be", l.so())
		}
		l.may <- nil
		l.may <- nil
		rest()
		// Nobody is held up if the transport says that it would have to wait.
		l.prompt.Store(false)
		o.flush(say("e"))
		l.may <- nil
		rest()
		// What was added before goes first, and with what is flushed.
		l.prompt.Store(true)
		for range 3 {
			l.may <- nil
		}
		o.add(say("f"))
		o.add(say("g"))
		o.flush(say("h"))
		rest()
		if !slices.Equal(l.so(), []string{"a", "b", "c", "d", "e", "f", "g", "h"}) {
			t.Errorf("sent in the order %v", l.so())
		}
	})
}

// TestFlushFails: if a message that is flushed cannot be sent who owns the outbox is told once, holds no
// lock then, and may have it closed.
func TestFlushFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &line{may: make(chan error, 10)}
		l.prompt.Store(true)
		var mu sync.Mutex // as that of an agent, which messages take
		var o *outbox
		told := 0
		o = newOutbox(l, "node", func(error) {
			free := false
			for i := 0; i < 1e6 && !free; i++ { // send may have it for a moment
				if free = o.mu.TryLock(); free {
					o.mu.Unlock()
				}
				runtime.Gosched()
			}
			if !free {
				t.Error("told under the lock")
			}
			mu.Lock()
			defer mu.Unlock()
			told++
			go o.close()
		})
		say := func() []byte {
			mu.Lock()
			defer mu.Unlock()
			return []byte("m")
		}
		l.may <- nil
		o.add(say) // and there is a goroutine
		rest()
		l.may <- errors.New("no")
		o.flush(say)
		o.flush(say)
		o.add(say)
		rest() // also for the goroutine, which has ended then
		if told != 1 || len(l.so()) != 2 {
			t.Errorf("told %d times, %d messages were sent, want 1 and 2", told, len(l.so()))
		}
	})
}

// TestFlushClosed: close waits for a goroutine that sends a message itself, and ends it.
func TestFlushClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &line{may: make(chan error)}
		l.prompt.Store(true)
		o := newOutbox(l, "node", func(err error) { t.Error(err) })
		go o.flush(func() []byte { return []byte("m") })
		rest()
		if o.close(); !l.left.Load() {
			t.Error("closed while a message is on its way")
		}
	})
}

// TestPromptEnd: the end of a task that has taken long has been told when the worker goes on. Ends that
// wait go with it.
func TestPromptEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, k := stuckOptions(t)
		l := &line{may: make(chan error, 10)}
		l.prompt.Store(true)
		o.Transport = l
		a := newAgent(o, k)
		defer a.background.Wait()
		a.mu.Lock()
		d := a.ensure("driver")
		a.mu.Unlock()
		defer a.event(transport.Event{Node: "driver"})
		a.report(d, 1, end{ID: 1, Took: promptTime - 1}) // which is on its way for now
		rest()
		a.report(d, 1, end{ID: 2, Took: promptTime - 1})
		a.report(d, 1, end{ID: 3, Took: promptTime})
		for range 3 {
			l.may <- nil
		}
		rest()
		a.report(d, 1, end{ID: 4, Took: promptTime})
		var told []string
		for _, m := range l.so() {
			var x ended
			_, body, err := split("", []byte(m))
			if err == nil {
				err = decode("", body, &x)
			}
			var ids []uint64
			for _, e := range x.Ends {
				ids = append(ids, e.ID)
			}
			told = append(told, fmt.Sprint(ids, err))
		}
		if want := []string{"[1] <nil>", "[2 3] <nil>", "[4] <nil>"}; !slices.Equal(told, want) {
			t.Errorf("told %v, want %v", told, want)
		}
	})
}
