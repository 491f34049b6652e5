package web

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tessera-la/tessera/internal/listen"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/transport/transporttest"
)

// said is a log.
type said struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// until waits until something is so.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not in 5 minutes: " + what)
		}
	}
}

// live returns a node that has started, without TLS, and what it says. Events go to e, if it is not nil.
func live(t *testing.T, o Options, e func(transport.Event)) (*node, *said) {
	t.Helper()
	l := &said{}
	o.Listen, o.Plain, o.Log = "127.0.0.1:0", true, slog.New(slog.NewTextHandler(l, nil))
	if o.Greet == 0 {
		o.Greet = 10 * time.Millisecond
	}
	if o.Timeout == 0 {
		o.Timeout = 15 * time.Minute // nobody is silent
	}
	x, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	if e == nil {
		e = func(transport.Event) {}
	}
	if err := x.Start(func(string, []byte) {}, e); err != nil {
		t.Fatal(err)
	}
	return x.(*node), l
}

// failing is a listener whose Accept fails, as often as there are errors, instead of waiting.
type failing struct {
	net.Listener
	errs chan error
}

func (f *failing) Accept() (net.Conn, error) {
	select {
	case err := <-f.errs:
		return nil, err
	default:
		return f.Listener.Accept()
	}
}

// TestAccept: a node outlives what befalls its listener for a while, and says so. If it cannot go on
// it says that, too, as an event of its own, and nobody connects with it any more.
func TestAccept(t *testing.T) {
	events, l := make(chan transport.Event, 10), &said{}
	x, err := New(Options{Name: "a", Listen: "127.0.0.1:0", Plain: true, Greet: 10 * time.Millisecond, Log: slog.New(slog.NewTextHandler(l, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	n := x.(*node)
	f := &failing{n.listen.Listener, make(chan error, 10)}
	n.listen.Listener = f
	for _, number := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ECONNABORTED, syscall.ENOBUFS, syscall.ENOMEM} {
		f.errs <- &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", number)}
	}
	if err := x.Start(func(string, []byte) {}, func(e transport.Event) { events <- e }); err != nil {
		t.Fatal(err)
	}
	other, _ := live(t, Options{Name: "b", Peers: []string{Address(x)}}, nil)
	if e := <-events; e.Node != "b" || !e.Joined {
		t.Fatalf("event %+v", e)
	}
	if !strings.Contains(l.String(), "cannot be accepted for now") || !strings.Contains(l.String(), "too many open files") {
		t.Errorf("the log says %s", l)
	}
	f.errs <- errors.New("broken")
	other.Close() // after which another one has to connect
	c, err := net.Dial("tcp", Address(x))
	if err == nil {
		c.Close()
	}
	for {
		select {
		case e := <-events:
			if e.Node == "b" {
				continue
			}
			var deaf *transport.DeafError
			if e.Node != "a" || e.Joined || !errors.As(e.Err, &deaf) || deaf.Node != "a" || !strings.Contains(e.Err.Error(), "broken") {
				t.Errorf("event %+v", e)
			}
			if c, err := net.Dial("tcp", Address(x)); err == nil {
				c.Close()
				t.Error("it still listens")
			}
			return
		case <-time.After(5 * time.Minute):
			t.Fatal("it does not say that it cannot go on")
		}
	}
}

// TestShort: many nodes that come and go, in order or not, leave no connections with a node that stays.
func TestShort(t *testing.T) {
	for name, lost := range map[string]bool{"in order": false, "lost": true} {
		t.Run(name, func(t *testing.T) {
			left := make(chan struct{}, 1)
			x, _ := live(t, Options{Name: "stays"}, func(e transport.Event) {
				if !e.Joined {
					left <- struct{}{}
				}
			})
			r := transport.Ref{Job: 1}
			x.Publish(r, &transporttest.Value{Data: make([]byte, 1000)})
			for i := range 20 {
				y, _ := live(t, Options{Name: fmt.Sprint("short", i), Peers: []string{Address(x)}}, nil)
				y.Publish(r, &transporttest.Value{Data: make([]byte, 1000)})
				until(t, "they meet", func() bool { return len(x.Nodes()) == 1 && len(y.Nodes()) == 1 })
				for range 3 {
					if err := errors.Join(x.Fetch(t.Context(), y.Self(), r, 0, &transporttest.Value{}), y.Fetch(t.Context(), "stays", r, 0, &transporttest.Value{}), x.Send(t.Context(), y.Self(), []byte("x"))); err != nil {
						t.Fatal(err)
					}
				}
				if lost {
					y.members.mu.Lock() // it says nothing of its end
					y.members.byName = map[string]*member{}
					y.members.mu.Unlock()
				}
				y.Close()
				<-left
			}
			until(t, "no connection is left", func() bool { return x.to.count() == 0 && x.at.count() == 0 })
			x.tidyHosts(time.Now().Add(hostFor + time.Minute))
			x.hosts.mu.Lock()
			defer x.hosts.mu.Unlock()
			if n := len(x.hosts.of); n > 0 {
				t.Errorf("%d addresses are kept", n)
			}
		})
	}
}

// TestAnnounced: memory comes with bytes, not with what a stranger, or a node, says will come.
func TestAnnounced(t *testing.T) {
	x, _ := live(t, Options{Name: "a"}, nil)
	friend, _ := live(t, Options{Name: "friend", Peers: []string{Address(x)}}, nil)
	until(t, "they meet", func() bool { return len(x.Nodes()) == 1 })
	used := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := used()
	const many = 40
	for _, request := range []string{
		"POST /v1/greet HTTP/1.1\r\nHost: a\r\nX-Tessera-From: b\r\nX-Tessera-Life: 1\r\nContent-Length: 67108864\r\n\r\n{",
		"POST /v1/greet HTTP/1.1\r\nHost: a\r\nX-Tessera-From: b\r\nX-Tessera-Life: 1\r\nContent-Length: 1048576\r\n\r\n{",
		"POST /v1/greet HTTP/1.1\r\nHost: a\r\nX-Tessera-From: b\r\nX-Tessera-Life: 1\r\nTransfer-Encoding: chunked\r\n\r\n3fffffff\r\n{",
		"POST /v1/greet HTTP/1.1\r\nHost: a\r\nX-Tessera-From: b\r\nX-Tessera-Life: 1\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: 1048576\r\n\r\n--x\r\n",
		fmt.Sprintf("POST /v1/message HTTP/1.1\r\nHost: a\r\nX-Tessera-From: friend\r\nX-Tessera-Life: %d\r\nX-Tessera-Wait: 900s\r\nConnection: Upgrade\r\nUpgrade: tessera\r\n\r\n", friend.life) + string(headOf(7, transport.MessageLimit)) + "x",
	} {
		for range many {
			c, err := net.Dial("tcp", Address(x))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := io.WriteString(c, request); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(request, "67108864") || strings.Contains(request, "Upgrade") {
				if _, err := c.Read(make([]byte, 1)); err != nil { // it is answered
					t.Error(err)
				}
			}
		}
	}
	until(t, "all has been read", func() bool { return x.listen.Count()+x.at.count() >= 3*many })
	if now := used(); now > before+5*many*(256<<10) {
		t.Errorf("%d connections with announcements take %d MiB", 5*many, (now-before)>>20)
	}
}

// headOf returns the head of a frame with a message of some bytes.
func headOf(turn uint64, size int) []byte {
	b := make([]byte, frameHead)
	binary.LittleEndian.PutUint64(b, turn)
	binary.LittleEndian.PutUint32(b[8:], uint32(size))
	binary.LittleEndian.PutUint32(b[16:], crc32.Checksum(b[:16], castagnoli))
	return b
}

// TestAnswerLarge: what another node answers to a greeting is read up to a limit.
func TestAnswerLarge(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	x, _ := live(t, Options{Name: "a", Peers: []string{l.Addr().String()}}, nil)
	defer l.Close()
	ended := make(chan int64)
	go func() {
		c, err := l.Accept()
		if err != nil {
			close(ended)
			return
		}
		defer c.Close()
		q, err := http.ReadRequest(bufio.NewReader(c))
		if err == nil {
			_, _ = io.Copy(io.Discard, q.Body)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 1099511627776\r\n\r\n")
		}
		n, _ := io.Copy(c, zeros{})
		ended <- n
	}()
	if n := <-ended; n > 64<<20 { // most of it lies in the buffers of the system
		t.Errorf("%d MiB were taken", n>>20)
	}
	if len(x.Nodes()) > 0 {
		t.Error("who answers so is there")
	}
}

// zeros is a reader without an end.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// TestCrowd: while strangers hold more connections than there may be, nodes meet and talk.
func TestCrowd(t *testing.T) {
	x, l := live(t, Options{Name: "a"}, nil)
	for range listen.Strangers() + 100 {
		c, err := net.Dial("tcp", Address(x))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	y, _ := live(t, Options{Name: "b", Peers: []string{Address(x)}}, nil)
	until(t, "they meet", func() bool { return len(x.Nodes()) == 1 && len(y.Nodes()) == 1 })
	if err := y.Send(t.Context(), "a", []byte("x")); err != nil {
		t.Error(err)
	}
	until(t, "the log says so", func() bool { return strings.Contains(l.String(), "connections of strangers") })
	if n := strings.Count(l.String(), "connections of strangers"); n != 1 {
		t.Errorf("the log says it %d times", n)
	}
}

// TestLate: who connects and does not say who it is has a Timeout for all of it, however slowly it says
// something.
func TestLate(t *testing.T) {
	x, l := live(t, Options{Name: "a", Timeout: 20 * time.Millisecond}, nil)
	for _, drip := range []string{"", "POST /v1/greet HTTP/1.1\r\nHost: a\r\n"} {
		c, err := net.Dial("tcp", Address(x))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		go func() {
			for i := range drip {
				_, _ = io.WriteString(c, drip[i:i+1])
				time.Sleep(5 * time.Millisecond)
			}
		}()
		_ = c.SetReadDeadline(time.Now().Add(5 * time.Minute))
		if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%q may go on", drip)
		}
	}
	until(t, "the log says so", func() bool { return strings.Contains(l.String(), "has not said whose it is") })
}

// TestRefusals: what is refused is told once a minute for each machine, whatever its ports, with how
// often it was refused meanwhile; of ever new reasons there are few lines, too.
func TestRefusals(t *testing.T) {
	l, now := &said{}, time.Now()
	r := refusals{log: slog.New(slog.NewTextHandler(l, nil))}
	for i := range 4101 {
		from := fmt.Sprint("10.0.0.1:", 1024+i)
		r.tellAt("connection refused", "from", from, fmt.Errorf("read tcp 10.0.0.2:7400->%s: i/o timeout", from), now)
	}
	if n := strings.Count(l.String(), "\n"); n != 1 {
		t.Errorf("%d lines", n)
	}
	r.look(now.Add(tellAgain - 1))
	r.look(now.Add(tellAgain))
	if n := strings.Count(l.String(), "\n"); n != 2 || !strings.Contains(l.String(), "times=4100") {
		t.Errorf("%d lines: %s", n, l)
	}
	r.look(now.Add(2 * tellAgain))
	if len(r.told)+len(r.kinds) > 0 {
		t.Error("what was not refused again is kept")
	}
	for i := range 1000 {
		r.tellAt("request refused", "from", "10.0.0.1:1", fmt.Errorf("%x is not served", i), now)
	}
	r.tellAt("request refused", "from", "10.0.0.3:1", errors.New("other"), now)
	if n := strings.Count(l.String(), "\n"); n != 2+tellKinds+2 {
		t.Errorf("%d lines", n)
	}
}

// TestBudget: what is too large for the rest waits, in turn; what is too large for all goes alone;
// who does not want to wait any more is in nobody's way.
func TestBudget(t *testing.T) {
	b := &budget{most: 100}
	ctx := t.Context()
	if err := errors.Join(b.take(ctx, 60), b.take(ctx, 40)); err != nil {
		t.Fatal(err)
	}
	order, quit := make(chan int, 3), errors.New("quit")
	waits := func(n int) {
		until(t, "they wait", func() bool {
			b.mu.Lock()
			defer b.mu.Unlock()
			return len(b.waiting) == n
		})
	}
	first, cancel := context.WithCancelCause(ctx)
	go func() {
		if err := b.take(first, 1000); !errors.Is(err, quit) {
			t.Errorf("take: %v", err)
		}
		order <- 0
	}()
	waits(1)
	for i, bytes := range []int64{1000, 10} {
		go func() {
			if err := b.take(ctx, bytes); err != nil {
				t.Error(err)
			}
			order <- i + 1
		}()
		waits(2 + i)
	}
	b.give(60)
	cancel(quit)
	if i := <-order; i != 0 {
		t.Errorf("%d is first", i)
	}
	b.give(40)
	if i := <-order; i != 1 {
		t.Errorf("%d goes on when there is nothing else", i)
	}
	b.give(1000)
	if i := <-order; i != 2 || b.used != 10 {
		t.Errorf("%d is last, %d bytes are taken", i, b.used)
	}
}

// TestValueTooLarge: a value of more than a node may have is refused, with an error that says so, and
// two nodes that fetch from each other what just fits both get it.
func TestValueTooLarge(t *testing.T) {
	const cap = 1 << 20
	x, _ := live(t, Options{Name: "a", Memory: cap}, nil)
	y, _ := live(t, Options{Name: "b", Memory: cap, Peers: []string{Address(x)}}, nil)
	until(t, "they meet", func() bool { return len(x.Nodes()) == 1 && len(y.Nodes()) == 1 })
	for i := range 4 {
		v := &transporttest.Value{Data: bytes.Repeat([]byte{byte(i)}, cap-8)}
		x.Publish(transport.Ref{Job: 1, I: int32(i)}, v)
		y.Publish(transport.Ref{Job: 1, I: int32(i)}, v)
	}
	var all sync.WaitGroup
	for i := range 4 {
		for n, from := range map[*node]string{x: "b", y: "a"} {
			all.Go(func() {
				v := &transporttest.Value{}
				if err := n.Fetch(t.Context(), from, transport.Ref{Job: 1, I: int32(i)}, 0, v); err != nil || len(v.Data) != cap-8 || v.Data[5] != byte(i) {
					t.Errorf("value %d of %s: %v", i, from, err)
				}
			})
		}
	}
	all.Wait()
	y.Publish(transport.Ref{Job: 2}, &transporttest.Value{Data: make([]byte, cap)})
	var large *transport.TooLargeError
	if err := x.Fetch(t.Context(), "b", transport.Ref{Job: 2}, 0, &transporttest.Value{}); !errors.As(err, &large) || large.Size != cap+8 || !strings.Contains(err.Error(), "node b") {
		t.Errorf("Fetch: %v", err)
	}
}

// TestValueDamaged: a value that is damaged, cut off or has no checksum behind it does not come.
func TestValueDamaged(t *testing.T) {
	data := []byte("what the other node has published")
	var good bytes.Buffer
	if err := (&transporttest.Value{Data: data}).Encode(&good); err != nil {
		t.Fatal(err)
	}
	value := good.Bytes()
	whole := binary.LittleEndian.AppendUint32(bytes.Clone(value), crc32.Checksum(value, castagnoli))
	damaged := func(at int) []byte {
		b := bytes.Clone(whole)
		b[at] ^= 4
		return b
	}
	answers := map[transport.Ref]struct {
		sum    string
		body   []byte
		length int
		err    any
	}{
		{Job: 1}: {sumLast, whole, len(whole), nil},
		{Job: 2}: {sumLast, damaged(len(value) - 1), len(whole), new(*transport.ChecksumError)},
		{Job: 3}: {sumLast, damaged(len(value)), len(whole), new(*transport.ChecksumError)},
		{Job: 4}: {sumLast, whole[:len(whole)-1], len(whole), new(*transport.UnreachableError)},
		{Job: 5}: {sumLast, whole[:len(value)], len(whole), new(*transport.UnreachableError)},
		{Job: 6}: {sumLast, whole[:len(value)/2], len(whole), new(*transport.UnreachableError)},
		{Job: 7}: {fmt.Sprint(crc32.Checksum(value, castagnoli)), value, len(value), new(*transport.ChecksumError)},
		{Job: 8}: {sumLast, whole[:3], 3, new(*transport.ChecksumError)},
	}
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/v1/greet" {
			fmt.Fprint(w, `{"Name":"b","Life":1}`)
			return
		}
		r, err := parse(q.URL.RawQuery)
		if err != nil {
			t.Error(err)
		}
		a := answers[r]
		w.Header().Set(headerSum, a.sum)
		w.Header().Set("Content-Length", fmt.Sprint(a.length))
		_, _ = w.Write(a.body)
	}))
	defer other.Close()
	joined := make(chan bool, 1)
	x, _ := live(t, Options{Name: "a", Peers: []string{other.Listener.Addr().String()}}, func(e transport.Event) {
		if e.Node == "b" && e.Joined {
			joined <- true
		}
	})
	<-joined
	for r, a := range answers {
		into := &transporttest.Value{}
		err := x.Fetch(t.Context(), "b", r, 0, into)
		switch {
		case a.err == nil && (err != nil || !bytes.Equal(into.Data, data)):
			t.Errorf("job %d: %q, %v", r.Job, into.Data, err)
		case a.err != nil && (err == nil || !errors.As(err, a.err)):
			t.Errorf("job %d: %v, want a %T", r.Job, err, a.err)
		}
	}
}
