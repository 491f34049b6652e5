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

// The server answers only two requests:
//
//	GET /                 the page, which asks for the state twice a second
//	GET /state?after=µs   a [State] as JSON: events that ended after that time
//
// A goroutine of the server samples the counts twice a second. Requests run on goroutines of
// net/http. They copy the recorder's data, a worker at a time: so a viewer delays a task for no
// longer than copying that worker's last events.

//go:embed page.html
var page []byte

// Options configures a [Server]. The zero value serves loopback only.
type Options struct {
	// Remote allows other addresses than loopback's. Everybody who can reach them can read the
	// page.
	Remote bool
	// Cluster, if not nil, returns the state of a cluster's tasks and nodes, as Watch of a
	// cluster.Driver does: the page shows each node. The server's goroutines call it twice a second
	// for each open page and for the samples; it must not wait.
	Cluster func() trace.Cluster
	// Log gets an error if the page cannot be served, for now or any more; nil means slog.Default.
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
	broken   error              // error of serve; read when it has ended
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
	// Peers that connect and then neither send nor read are cut off.
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

// known keeps a connection while a request is active on it. Others may be closed for new ones.
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

// serve serves until Close. If it ends earlier, the runtime goes on.
func (s *Server) serve() {
	if err := s.server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		s.broken = fmt.Errorf("monitor: the page is served no more: %w", err)
		s.log.Error("the monitor's page is served no more", "at", s.URL(), "error", err)
	}
}

// Describe tells the page what the program begins to do; it may be called at any time. The activity
// before has ended then, and stays on the page if it was a numbered run.
func (s *Server) Describe(a Activity) { s.activity.begin(a, s.events.Now(), s.counts()) }

// Progress tells the page how many tasks of the call under way have ended, and the number of all,
// or of those so far; 0 if unknown. While that number changes the page shows no remaining time. It
// is meant for la.Options.Progress. Without it the page shows how many of the tasks submitted so
// far have ended, and no remaining time.
func (s *Server) Progress(done, total int) { s.activity.progress(done, total, s.events.Now()) }

// counts returns the number of tasks in each state.
func (s *Server) counts() trace.Counts {
	if s.cluster != nil {
		return s.cluster().Counts
	}
	return s.events.Counts()
}

// sample adds samples to the history until ctx ends.
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

// check refuses invalid addresses and, unless remote, those that are not loopback's.
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

// loopback reports whether a host is a loopback address or localhost. Another name is not, whatever
// it resolves to: it may resolve to another address at the next request.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// local refuses requests for other host names than loopback's, against DNS rebinding: a foreign
// page could resolve its own name to this server and read the answers. Listening on loopback does
// not prevent that, as the browser is on this machine.
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

// Close stops serving. It waits a second for answers under way. The recorder goes on. The error may
// be the reason why the page was not served any more before.
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

// page answers with the page, which is self-contained: the browser is told to load nothing from
// elsewhere, and to connect only to this server.
func (s *Server) page(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'")
	h.Set("X-Content-Type-Options", "nosniff")
	w.Write(page)
}

// state answers with the events after the time in the query, in microseconds. The page sends the
// latest end that it has seen, so that it gets each event once. An error of writing only means that
// the connection has ended.
func (s *Server) state(w http.ResponseWriter, r *http.Request) {
	var after time.Duration
	if q := r.URL.Query().Get("after"); q != "" {
		us, err := strconv.ParseInt(q, 10, 53) // nanoseconds must fit, too
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
