package web_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/transport/transporttest"
	"github.com/tessera-la/tessera/transport/web"
	"github.com/tessera-la/tessera/transport/web/certs"
	"go.uber.org/goleak"
)

// authority makes certificates.
type authority struct {
	*certs.Authority
	dir  string
	made int
}

func newAuthority(t testing.TB) *authority {
	dir := t.TempDir()
	a, _, err := certs.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{Authority: a, dir: dir}
}

// config returns the configuration of a node of that name, whose certificate is valid for so
// long; certs.Read refuses one that has expired.
func (a *authority) config(t testing.TB, name string, valid time.Duration) *tls.Config {
	a.made++
	own := filepath.Join(a.dir, fmt.Sprint(a.made))
	if err := a.Node(own, name, valid); err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(own, "node.crt"), filepath.Join(own, "node.key"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(own, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	return &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots}
}

// log is where refusals go.
type log struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(b)
}

func (l *log) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.String()
}

// nodes returns nodes on the loopback address, which know the first one.
func nodes(t *testing.T, n int, a *authority, l io.Writer) (all []transport.Transport) {
	t.Helper()
	for i := range n {
		o := web.Options{Name: fmt.Sprintf("node%d", i), Listen: "127.0.0.1:0", Plain: a == nil, Greet: 20 * time.Millisecond, Timeout: 15 * time.Minute, // nobody is silent
			Log: slog.New(slog.NewTextHandler(l, nil))}
		if a != nil {
			o.TLS = a.config(t, o.Name, time.Hour)
		}
		if i > 0 {
			o.Peers = []string{web.Address(all[0])}
		}
		x, err := web.New(o)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, x)
	}
	return all
}

// awake returns a clock that goes on while this process does: one that was stopped is not late.
func awake(t *testing.T) func() time.Duration {
	const every = 10 * time.Millisecond
	var ticks atomic.Int64 // a ticker drops those that nobody takes
	var ticking sync.WaitGroup
	tick, quit := time.NewTicker(every), make(chan struct{})
	ticking.Go(func() {
		for {
			select {
			case <-tick.C:
				ticks.Add(1)
			case <-quit:
				return
			}
		}
	})
	t.Cleanup(func() { close(quit); ticking.Wait(); tick.Stop() })
	return func() time.Duration { return time.Duration(ticks.Load()) * every }
}

func leaves(t *testing.T) {
	before := goleak.IgnoreCurrent()
	// Helpers of fasthttp that live as long as the process, or end by themselves.
	t.Cleanup(func() {
		goleak.VerifyNone(t, before, goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
			goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*Client).mCleaner"), goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*HostClient).connsCleaner"), goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"))
	})
}

func TestPlain(t *testing.T) {
	leaves(t)
	transporttest.Run(t, func(t *testing.T, n int) []transport.Transport { return nodes(t, n, nil, io.Discard) })
}

func TestTLS(t *testing.T) {
	leaves(t)
	a := newAuthority(t)
	transporttest.Run(t, func(t *testing.T, n int) []transport.Transport { return nodes(t, n, a, io.Discard) })
}

func TestOptions(t *testing.T) {
	for name, o := range map[string]web.Options{
		"no name":      {Listen: "127.0.0.1:0", Plain: true},
		"no port":      {Name: "a", Listen: "127.0.0.1", Plain: true},
		"no TLS":       {Name: "a", Listen: "127.0.0.1:0"},
		"both":         {Name: "a", Listen: "127.0.0.1:0", Plain: true, TLS: &tls.Config{}},
		"open to all":  {Name: "a", Listen: "0.0.0.0:0", Plain: true},
		"open to all6": {Name: "a", Listen: "[::]:0", Plain: true},
		"no address":   {Name: "a", Listen: "0.0.0.0:0", TLS: &tls.Config{}},
		"everywhere":   {Name: "a", Listen: ":0", Plain: true},
		"of two parts": {Name: "a/b/c", Listen: "127.0.0.1:0", Plain: true},
		"backwards":    {Name: "a", Listen: "127.0.0.1:0", Plain: true, Greet: -1},
	} {
		var e *web.OptionsError
		if x, err := web.New(o); !errors.As(err, &e) {
			t.Errorf("%s: %v", name, err)
			if err == nil {
				x.Close()
			}
		}
	}
}

// TestOptionsError: everything that is wrong is said at once.
func TestOptionsError(t *testing.T) {
	_, err := web.New(web.Options{Listen: "127.0.0.1:0", Greet: -1})
	const want = "transport: invalid options: a node needs a name of at most 200 bytes; a node needs either TLS or Plain; Greet, Timeout and Memory must not be negative"
	if err == nil || err.Error() != want {
		t.Errorf("error is %v", err)
	}
}

// TestStrangers: who has no certificate of the cluster, one that has expired, or that of
// another node, is refused, and the operator sees it.
func TestStrangers(t *testing.T) {
	a, l := newAuthority(t), &log{}
	x := nodes(t, 1, a, l)[0]
	defer x.Close()
	got := make(chan string, 10)
	if err := x.Start(func(from string, _ []byte) { got <- from }, func(e transport.Event) { got <- e.Node }); err != nil {
		t.Fatal(err)
	}
	post := func(c *tls.Config, from string) (int, error) {
		if c != nil {
			c.ServerName = "node0"
		}
		client := http.Client{Transport: &http.Transport{TLSClientConfig: c}, Timeout: 5 * time.Minute}
		defer client.CloseIdleConnections()
		q, err := http.NewRequest(http.MethodPost, "https://"+web.Address(x)+"/v1/greet", strings.NewReader(`{"Name":"`+from+`","Life":7,"Address":"127.0.0.1:1"}`))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("X-Tessera-From", from)
		q.Header.Set("X-Tessera-Life", "7")
		answer, err := client.Do(q)
		if err != nil {
			return 0, err
		}
		defer answer.Body.Close()
		return answer.StatusCode, nil
	}
	none := a.config(t, "none", time.Hour)
	none.Certificates = nil
	stranger := newAuthority(t).config(t, "node1", time.Hour)
	stranger.RootCAs = none.RootCAs
	for name, c := range map[string]*tls.Config{
		"without a certificate": none, "of another authority": stranger, "expired": a.config(t, "node1", time.Nanosecond),
	} {
		if status, err := post(c, "node1"); err == nil {
			t.Errorf("%s: status %d", name, status)
		}
	}
	if status, err := post(a.config(t, "node1", time.Hour), "node2"); err != nil || status != http.StatusForbidden {
		t.Errorf("node1 as node2: %d %v", status, err)
	}
	for _, want := range []string{"node1 says that it is", "didn't provide a certificate", "unknown authority", "expired"} {
		// The other side hears of it before it stands in the log.
		for end := time.Now().Add(5 * time.Minute); !strings.Contains(l.text(), want) && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
		if strings.Count(l.text(), want) != 1 {
			t.Errorf("%q is not in the log once: %s", want, l.text())
		}
	}
	select {
	case who := <-got:
		t.Errorf("%s was let in", who)
	default:
	}
	if status, err := post(a.config(t, "node1", time.Hour), "node1"); err != nil || status != http.StatusOK {
		t.Errorf("node1: %d %v", status, err)
	}
	// What node1 has named after itself, and what only looks like it.
	for _, test := range []struct {
		certificate, name string
		status            int
	}{
		{"node1", "node1/job7", http.StatusOK},
		{"node1", "node10", http.StatusForbidden},
		{"node1", "node10/job7", http.StatusForbidden},
		{"node10", "node1/job7", http.StatusForbidden},
		{"node1", "node1/", http.StatusForbidden},
		{"node1", "/job7", http.StatusForbidden},
		{"node1", "node1//job7", http.StatusForbidden},
		{"node1", "node1/../node2", http.StatusForbidden},
		{"node1", "node1/..", http.StatusForbidden},
		{"node1", "node1/job7/x", http.StatusForbidden},
		{"node1", "node2/node1", http.StatusForbidden},
		{"node1", "NODE1/job7", http.StatusForbidden},
	} {
		if status, err := post(a.config(t, test.certificate, time.Hour), test.name); err != nil || status != test.status {
			t.Errorf("%s with the certificate of %s: %d, %v; want %d", test.name, test.certificate, status, err, test.status)
		}
	}
}

// TestNonsense: what makes no sense is refused, and nothing else happens.
func TestNonsense(t *testing.T) {
	l := &log{}
	x := nodes(t, 1, nil, l)[0]
	defer x.Close()
	if err := x.Start(func(string, []byte) { t.Error("a message") }, func(transport.Event) {}); err != nil {
		t.Fatal(err)
	}
	for _, q := range []struct {
		method, path, from, life, body string
		status                         int
	}{
		{"GET", "/", "a", "1", "", 404},
		{"DELETE", "/v1/value", "a", "1", "", 404},
		{"GET", "/v1/value", "a", "1", "", 400},
		{"GET", "/v1/value?job=1&matrix=-1&i=0&j=0&version=0", "a", "1", "", 400},
		{"GET", "/v1/value?job=1&matrix=1&i=0&j=0&version=0", "a", "1", "", 404},
		{"POST", "/v1/message", "a", "1", "x", 409},
		{"POST", "/v1/message", "", "1", "x", 403},
		{"POST", "/v1/message", "a", "x", "x", 403},
		{"POST", "/v1/greet", "a", "1", "{", 400},
		{"POST", "/v1/greet", "a", "1", `{"Name":"b","Life":1}`, 400},
	} {
		r, err := http.NewRequest(q.method, "http://"+web.Address(x)+q.path, strings.NewReader(q.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Tessera-From", q.from)
		r.Header.Set("X-Tessera-Life", q.life)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != q.status {
			t.Errorf("%s %s: %d, want %d", q.method, q.path, answer.StatusCode, q.status)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

// TestBrief: a node that is closed as soon as it has started ends.
func TestBrief(t *testing.T) {
	leaves(t)
	for range 50 {
		x := nodes(t, 1, nil, io.Discard)[0]
		if err := x.Start(func(string, []byte) {}, func(transport.Event) {}); err != nil {
			t.Fatal(err)
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSilent: a node that does not answer any more has left, and when it answers again, it
// has joined; so when another one with its name begins.
func TestSilent(t *testing.T) {
	var life atomic.Int64 // 0: it does not answer
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n := life.Load(); n != 0 {
			fmt.Fprintf(w, `{"Name":"b","Life":%d}`, n)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body) // or else the server does not see the client go
		<-r.Context().Done()
	}))
	defer server.Close()
	x, err := web.New(web.Options{Name: "a", Listen: "127.0.0.1:0", Peers: []string{server.Listener.Addr().String()}, Plain: true, Greet: 10 * time.Millisecond, Timeout: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	events := make(chan transport.Event, 10)
	if err := x.Start(func(string, []byte) {}, func(e transport.Event) { events <- e }); err != nil {
		t.Fatal(err)
	}
	want := func(joined bool) {
		t.Helper()
		select {
		case e := <-events:
			if e.Node != "b" || e.Joined != joined || (e.Err == nil) != joined { // it never says that it goes
				t.Errorf("event %+v", e)
			}
		case <-time.After(5 * time.Minute):
			t.Fatalf("no event (joined %v)", joined)
		}
	}
	life.Store(1)
	want(true)
	// It fetches a value, of which it reads nothing: who drops that does not wait for it.
	r, clock := transport.Ref{Job: 1, Matrix: 2}, awake(t)
	x.Publish(r, &transporttest.Value{Data: make([]byte, 64<<20)})
	c, err := net.Dial("tcp", web.Address(x))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "GET /v1/value?job=1&matrix=2&i=0&j=0&version=0 HTTP/1.1\r\nHost: a\r\nX-Tessera-From: b\r\nX-Tessera-Life: 1\r\n\r\n")
	if _, err := io.ReadFull(c, make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	life.Store(0)
	want(false)
	begin := clock()
	if x.Drop(r); clock()-begin > time.Second {
		t.Errorf("Drop took %v", clock()-begin)
	}
	life.Store(1)
	want(true)
	life.Store(2)
	want(false)
	want(true)
}

// TestRefused: a process that has ended, so that nobody listens at its address, has left long
// before the time-out.
func TestRefused(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"Name":"b","Life":1}`)
	}))
	x, err := web.New(web.Options{Name: "a", Listen: "127.0.0.1:0", Peers: []string{server.Listener.Addr().String()}, Plain: true, Greet: 10 * time.Millisecond, Timeout: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	events := make(chan transport.Event, 10)
	if err := x.Start(func(string, []byte) {}, func(e transport.Event) { events <- e }); err != nil {
		t.Fatal(err)
	}
	if e := <-events; !e.Joined {
		t.Fatalf("event %+v", e)
	}
	server.Close()
	select {
	case e := <-events:
		if e.Joined || !errors.Is(e.Err, syscall.ECONNREFUSED) {
			t.Errorf("event %+v", e)
		}
	case <-time.After(5 * time.Minute):
		t.Error("it has not left")
	}
}

// TestImpostor: who answers a greeting in the name of another node is not taken for it.
func TestImpostor(t *testing.T) {
	a, l := newAuthority(t), &log{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"Name":"victim","Life":1,"Address":"127.0.0.1:1"}`)
	}))
	server.TLS = a.config(t, "crook", time.Hour)
	server.StartTLS()
	defer server.Close()
	x, err := web.New(web.Options{Name: "a", Listen: "127.0.0.1:0", Peers: []string{server.Listener.Addr().String()}, Greet: 10 * time.Millisecond,
		TLS: a.config(t, "a", time.Hour), Log: slog.New(slog.NewTextHandler(l, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if err := x.Start(func(string, []byte) {}, func(e transport.Event) { t.Errorf("event %+v", e) }); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(5 * time.Minute); !strings.Contains(l.text(), "crook says that it is"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the log says %s", l.text())
		}
	}
	if len(x.Nodes()) > 0 {
		t.Errorf("there is %v", x.Nodes())
	}
}

// BenchmarkFetch fetches values of 2 MiB, a tile of 512×512, on the loopback address.
func BenchmarkFetch(b *testing.B) {
	a := newAuthority(b)
	for name, config := range map[string]func(string) *tls.Config{
		"plain": func(string) *tls.Config { return nil },
		"tls":   func(node string) *tls.Config { return a.config(b, node, time.Hour) },
	} {
		b.Run(name, func(b *testing.B) {
			var all []transport.Transport
			joined := make(chan struct{}, 2)
			for i := range 2 {
				o := web.Options{Name: fmt.Sprintf("node%d", i), Listen: "127.0.0.1:0", TLS: config(fmt.Sprintf("node%d", i)), Greet: 20 * time.Millisecond}
				o.Plain = o.TLS == nil
				if i > 0 {
					o.Peers = []string{web.Address(all[0])}
				}
				x, err := web.New(o)
				if err != nil {
					b.Fatal(err)
				}
				defer x.Close()
				if err := x.Start(func(string, []byte) {}, func(transport.Event) { joined <- struct{}{} }); err != nil {
					b.Fatal(err)
				}
				all = append(all, x)
			}
			<-joined
			<-joined
			v := &transporttest.Value{Data: make([]byte, 2<<20)}
			all[0].Publish(transport.Ref{}, v)
			into := &transporttest.Value{}
			b.SetBytes(2 << 20)
			for b.Loop() {
				if err := all[1].Fetch(b.Context(), "node0", transport.Ref{}, 0, into); err != nil {
					b.Fatal(err)
				}
			}
			all[0].Drop(transport.Ref{})
		})
	}
}
