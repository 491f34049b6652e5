package jobs

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
)

// headerJob has the Spec of a job, as JSON; cancelling has it, too. A page in a browser cannot
// send it to another place than its own.
const headerJob = "X-Tessera-Job"

// status returns that of a refusal.
func (k Kind) status() int {
	switch k {
	case BadSpec:
		return fasthttp.StatusBadRequest
	case NotFound:
		return fasthttp.StatusNotFound
	case NotYet:
		return fasthttp.StatusConflict
	case Full:
		return fasthttp.StatusTooManyRequests
	case TooLarge:
		return fasthttp.StatusRequestEntityTooLarge
	}
	return fasthttp.StatusInternalServerError
}

// fileOf returns the file that the last word of a path means, empty if it means none.
func fileOf(what string) string {
	switch what {
	case "log":
		return FileLog
	case "report":
		return FileReport
	case "matrix":
		return FileMatrix
	}
	return ""
}

// Server serves a queue over HTTP:
//
//	POST /v1/jobs              submit; headerJob is the Spec, the body the input's file
//	GET  /v1/jobs              all jobs
//	GET  /v1/jobs/7            a job
//	POST /v1/jobs/7/cancel     cancel it
//	GET  /v1/jobs/7/log        and so report and matrix
type Server struct {
	queue  *Queue
	server *fasthttp.Server
	plain  bool

	mu   sync.Mutex // a leaf
	open map[net.Conn]struct{}
}

const (
	pause      = time.Minute // the longest in which nothing of a request comes
	answerMost = time.Hour   // the longest that an answer takes: a matrix may be large
	grace      = time.Second // that Close gives to what is under way
)

// NewServer returns a server. Without TLS it answers on loopback addresses only.
func NewServer(q *Queue, plain bool) *Server {
	s := &Server{queue: q, plain: plain, open: map[net.Conn]struct{}{}}
	s.server = &fasthttp.Server{
		Name: "tessera", NoDefaultServerHeader: true, Handler: s.serve, Logger: quiet{},
		ReadBufferSize: 32 << 10, MaxRequestBodySize: 32 << 10, StreamRequestBody: true, // the rest comes as it is read
		ReadTimeout: pause, IdleTimeout: pause, WriteTimeout: answerMost, Concurrency: 256, ConnState: s.connected,
	}
	return s
}

// quiet is a fasthttp.Logger that says nothing: who asks is told.
type quiet struct{}

// Printf implements [fasthttp.Logger].
func (quiet) Printf(string, ...any) {}

// Serve answers until Close.
func (s *Server) Serve(l net.Listener) error { return s.server.Serve(l) }

// connected notes what becomes of a connection.
func (s *Server) connected(c net.Conn, now fasthttp.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch now {
	case fasthttp.StateNew:
		s.open[c] = struct{}{}
	case fasthttp.StateClosed:
		delete(s.open, c)
	}
}

// Close ends Serve, and what is under way a little later: who sends or takes a matrix slowly
// holds nobody up.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	err := s.server.ShutdownWithContext(ctx)
	for errors.Is(err, context.DeadlineExceeded) {
		s.mu.Lock()
		for c := range s.open {
			c.Close()
		}
		left := len(s.open)
		s.mu.Unlock()
		if left == 0 {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return err
}

func (s *Server) serve(c *fasthttp.RequestCtx) {
	answer, err := s.answer(c)
	if err == nil && answer == nil {
		return // it has been given
	}
	if err != nil {
		e := (*Error)(nil)
		if !errors.As(err, &e) {
			e = &Error{Broken, err.Error()}
		}
		c.SetConnectionClose() // there may be a body that nobody has read
		c.SetStatusCode(e.Kind.status())
		answer = e
	}
	c.SetContentType("application/json")
	text, err := json.Marshal(answer)
	if err != nil {
		panic(err) // the types of this package can be encoded
	}
	c.SetBody(text)
}

// answer returns what is to be answered as JSON; nil if the answer is a file.
func (s *Server) answer(c *fasthttp.RequestCtx) (any, error) {
	if s.plain && !local(string(c.Host())) { // a page whose name leads to this machine
		return nil, &Error{BadSpec, fmt.Sprintf("%.100q is no loopback address", c.Host())}
	}
	rest, ok := strings.CutPrefix(string(c.Path()), "/v1/jobs")
	if !ok || rest != "" && rest[0] != '/' {
		return nil, &Error{NotFound, fmt.Sprintf("%.100q is not served", c.Path())}
	}
	asked := len(c.Request.Header.Peek(headerJob)) > 0
	if rest == "" {
		switch {
		case c.IsGet():
			return s.queue.Jobs(), nil
		case c.IsPost() && asked:
			return s.submit(c)
		}
		return nil, &Error{BadSpec, fmt.Sprintf("%.20q: want GET, or POST with %s", c.Method(), headerJob)}
	}
	number, what, _ := strings.Cut(rest[1:], "/")
	id, err := strconv.Atoi(number)
	if err != nil || id < 1 || strconv.Itoa(id) != number {
		return nil, &Error{BadSpec, fmt.Sprintf("%.100q is no number of a job", number)}
	}
	switch file := fileOf(what); {
	case what == "" && c.IsGet():
		return s.queue.Job(id)
	case what == "cancel" && c.IsPost() && asked:
		return s.queue.Cancel(id)
	case file != "" && c.IsGet():
		f, err := s.queue.Open(id, file)
		if err != nil {
			return nil, err
		}
		info, err := f.Stat()
		if err != nil {
			f.Close()
			return nil, err
		}
		c.SetContentType("application/octet-stream")
		c.SetBodyStream(struct { // no longer than it is now, if it grows
			io.Reader
			io.Closer
		}{io.LimitReader(f, info.Size()), f}, int(info.Size()))
		return nil, nil
	}
	return nil, &Error{NotFound, fmt.Sprintf("%.20q of %.100q is not served", c.Method(), rest)}
}

// submit queues the job that a request has.
func (s *Server) submit(c *fasthttp.RequestCtx) (any, error) {
	var spec Spec
	d := json.NewDecoder(strings.NewReader(string(c.Request.Header.Peek(headerJob))))
	d.DisallowUnknownFields()
	if err := d.Decode(&spec); err != nil {
		return nil, &Error{BadSpec, fmt.Sprintf("%s: %v", headerJob, err)}
	}
	var input io.Reader
	size := c.Request.Header.ContentLength()
	switch body := c.RequestBodyStream(); {
	case spec.Input == "" && size != 0:
		return nil, &Error{BadSpec, "a body, and no Input"}
	case spec.Input != "" && (body == nil || size <= 0):
		return nil, &Error{BadSpec, "an Input, and no body of a Content-Length"}
	case spec.Input != "":
		input = &patient{body, c.Conn()}
	}
	return s.queue.Submit(spec, owner(c), input, int64(size))
}

// patient reads a body that may take long, as long as something of it comes.
type patient struct {
	body io.Reader
	conn net.Conn
}

// Read implements [io.Reader].
func (p *patient) Read(b []byte) (int, error) {
	if err := p.conn.SetReadDeadline(time.Now().Add(pause)); err != nil {
		return 0, err
	}
	return p.body.Read(b)
}

// owner returns the name in the certificate of who asks.
func owner(c *fasthttp.RequestCtx) string {
	var t *tls.ConnectionState
	if t = c.TLSConnectionState(); t == nil || len(t.PeerCertificates) == 0 || len(t.PeerCertificates[0].DNSNames) == 0 {
		return ""
	}
	return t.PeerCertificates[0].DNSNames[0]
}

// local reports whether an address is one of this machine that no name server can give to
// somebody else.
func local(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return host == "localhost" || net.ParseIP(strings.Trim(host, "[]")).IsLoopback()
}
