package monitor

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/internal/listen"
)

// The server answers two requests, and takes no others:
//
//	GET /                 the page, which asks for the state twice a second
//	GET /state?after=µs   a [State] as JSON: what ended after that time
//
// A goroutine of the server counts the tasks twice a second, for the course of time. The
// requests run on goroutines of net/http's. What they take of the recorder are copies, a
// worker at a time: so a viewer holds up a task for no longer than it takes to
// copy that worker's last events.

//go:embed page.html
var page []byte

// Options configures a [Server]. The zero value serves loopback only.
type Options struct {
	// Remote allows addresses other than those of loopback. Everybody who can reach
	// them can read the page.
	Remote bool
	// Cluster, if not nil, says where the tasks and nodes of a cluster stand, as Watch of a
	// cluster.Driver does: the page shows each node. It is called twice a second for each
	// page that somebody has open, and for the server itself, on its goroutines, and must
	// not wait.
	Cluster func() trace.Cluster
	// Log is told if the page cannot be served, for now or any more; nil means slog.Default.
	Log *slog.Logger
}

// AddressError is returned for an address that the monitor does not listen on.
type AddressError struct {
	Addr   string
	Reason string
}

func (e *AddressError) Error() string {
	return fmt.Sprintf("monitor: address %q: %s", e.Addr, e.Reason)
}

// Server serves the page.
type Server struct {
	events   *trace.Recorder
	cluster  func() trace.Cluster // nil if there is none
	listener net.Listener
	server   *http.Server
	log      *slog.Logger
	broken   error              // serve's; read when it has ended
	stop     context.CancelFunc // ends the sampling
	running  sync.WaitGroup     // Serve, and the sampling
	activity activities
	history  history
}

// Listen starts to serve the page of a recorder on addr, as in "127.0.0.1:0";
// port 0 takes a free one. The error is an *AddressError for an address that
// makes no sense or is not loopback's, or that of the system. The caller must
// Close the server.
func Listen(addr string, events *trace.Recorder, opt Options) (*Server, error) {
	if err := check(addr, opt.Remote); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("monitor: %w", err)
	}
	log := opt.Log
	if log == nil {
		log = slog.Default()
	}
	l = listen.New(l, listen.Options{Tell: func(err error, failed int) {
		log.Error("the monitor's page cannot be had for now", "at", l.Addr().String(), "error", err, "attempts", failed)
	}})
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{log: log, events: events, cluster: opt.Cluster, listener: l, stop: stop}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.page)
	mux.HandleFunc("GET /state", s.state)
	// Who connects and then says nothing, or does not read, is cut off.
	s.server = &http.Server{
		Handler:           s.local(opt.Remote, mux),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       5 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    1 << 14,
		ConnState:         known,
	}
	s.running.Go(s.serve)
	s.running.Go(func() { s.sample(ctx) })
	return s, nil
}

// known keeps a connection as long as somebody asks something on it. Others make room for more.
func known(c net.Conn, now http.ConnState) {
	x := listen.Of(c)
	switch {
	case x == nil:
	case now == http.StateActive:
		x.Known(nil)
	case now == http.StateIdle:
		x.Stranger()
	}
}

// serve serves until Close. What is watched goes on if it ends before.
func (s *Server) serve() {
	if err := s.server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		s.broken = fmt.Errorf("monitor: the page is served no more: %w", err)
		s.log.Error("the monitor's page is served no more", "at", s.URL(), "error", err)
	}
}

// Describe says what the program begins to do, for the page; it may be called at any time.
// What it did before has ended then, and stays on the page if it was a run with a number.
func (s *Server) Describe(a Activity) { s.activity.begin(a, s.events.Now(), s.counts()) }

// Progress says how many tasks of the call under way have ended, and how many there are in
// all, or as yet; 0 if that is not known. Until the number stays no time left is said. It is meant for la.Options.Progress. Without it the page
// shows how many of the tasks submitted so far have ended, and no time left.
func (s *Server) Progress(done, total int) { s.activity.progress(done, total, s.events.Now()) }

// counts returns where the tasks stand.
func (s *Server) counts() trace.Counts {
	if s.cluster != nil {
		return s.cluster().Counts
	}
	return s.events.Counts()
}

// sample writes the history until ctx ends.
func (s *Server) sample(ctx context.Context) {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		s.history.add(s.events.Now(), s.counts())
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// check refuses what is no address, and what is not loopback's unless remote.
func check(addr string, remote bool) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return &AddressError{addr, "want HOST:PORT, as in 127.0.0.1:0"}
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return &AddressError{addr, "the port is not a number from 0 to 65535"}
	}
	if !remote && !loopback(host) {
		return &AddressError{addr, "it is not an address of loopback, which has to be allowed"}
	}
	return nil
}

// loopback reports whether a host is this machine by loopback. A name other than
// localhost is not, whatever it leads to: it may lead elsewhere at the next request.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// local refuses requests by names other than loopback's: a page elsewhere could let its
// own name lead here and read the answers. That is DNS rebinding, against which the
// address that is listened on does not help: the browser is on this machine.
func (s *Server) local(remote bool, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !remote {
			host, _, err := net.SplitHostPort(r.Host)
			if err != nil {
				host = r.Host
			}
			if !loopback(host) {
				http.Error(w, "only by the address of loopback", http.StatusForbidden)
				return
			}
		}
		h.ServeHTTP(w, r)
	})
}

// URL returns the address of the page.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + "/" }

// Close stops serving. It waits a second for answers under way. A recorder that it
// shows goes on. The error may be why the page was served no more before.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := s.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.server.Close()
	}
	s.stop()
	s.running.Wait()
	return errors.Join(s.broken, err)
}

// page answers with the page, which is complete in itself: the browser is told to load
// nothing from elsewhere, and to talk to nobody but this server.
func (s *Server) page(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'")
	h.Set("X-Content-Type-Options", "nosniff")
	w.Write(page)
}

// state answers with what happened after the time that the query names, in
// microseconds. The page sends the latest end that it has seen, so that it gets each
// event once. That an answer cannot be written is the connection's end, and nobody's to
// be told.
func (s *Server) state(w http.ResponseWriter, r *http.Request) {
	var after time.Duration
	if q := r.URL.Query().Get("after"); q != "" {
		us, err := strconv.ParseInt(q, 10, 53) // nanoseconds have to fit, too
		if err != nil || us < 0 {
			http.Error(w, "after is not a number of microseconds", http.StatusBadRequest)
			return
		}
		after = time.Duration(us) * time.Microsecond
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	json.NewEncoder(w).Encode(snapshot(s.events, after, s.cluster, &s.activity, &s.history))
}
