package jobs

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tessera-la/tessera/internal/listen"
)

// headerJob holds the Spec of a job as JSON. Requests to cancel and remove must have it, too: a web page in a
// browser cannot send this header to another site.
const headerJob = "X-Tessera-Job"

// status returns the HTTP status of a refusal.
func (k Kind) status() int {
	status := map[Kind]int{BadSpec: http.StatusBadRequest, NotFound: http.StatusNotFound, NotYet: http.StatusConflict,
		Full: http.StatusTooManyRequests, TooLarge: http.StatusRequestEntityTooLarge}
	return cmp.Or(status[k], http.StatusInternalServerError)
}

// fileOf returns the file for the last word of a path, or "" if the word is unknown.
func fileOf(what string) string {
	return map[string]string{"log": FileLog, "report": FileReport, "text": FileText, "matrix": FileMatrix}[what]
}

// Server serves a queue over HTTP:
//
//	POST /v1/jobs              submit; headerJob is the Spec, the body the input's file
//	GET  /v1/jobs              all jobs
//	GET  /v1/jobs/7            a job
//	POST /v1/jobs/7/cancel     cancel it, unless it has ended
//	DELETE /v1/jobs/7          remove it, if it has
//
// likewise report, text and matrix
//
// It is net/http's server, and not fasthttp's as that of the agents. There are few requests, so nothing is gained where
// fasthttp is fast; and a body gets a new limit of time with each of its pieces here, by [http.ResponseController].
type Server struct {
	queue  *Queue
	server *http.Server
	trust  *tls.Config // nil for no TLS
	log    *slog.Logger
	conns  atomic.Int64 // open connections
}

// A client that sends nothing, or sends slowly, delays no other client, and its connection ends. A matrix may
// take long, as long as it makes progress.
const (
	pause      = time.Minute      // longest time without any byte of a request
	begin      = 10 * time.Second // longest time until a request has arrived, without its body
	answerMost = time.Hour        // longest time of an answer: a matrix may be large
	grace      = time.Second      // time that Close gives to running requests
)

// NewServer returns a server of q. trust is the TLS configuration of its connections. With nil it uses no TLS,
// and answers on loopback addresses only.
func NewServer(q *Queue, trust *tls.Config, log *slog.Logger) *Server {
	s := &Server{queue: q, trust: trust, log: log}
	s.server = &http.Server{
		Handler: http.HandlerFunc(s.serve), ErrorLog: quiet(), // clients are told of errors
		MaxHeaderBytes: 32 << 10, ReadTimeout: pause, ReadHeaderTimeout: begin, IdleTimeout: pause, WriteTimeout: answerMost, ConnState: s.connected,
	}
	return s
}

// quiet returns a logger that says nothing.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

// Serve answers requests until Close. It returns nil after Close, otherwise the error that ended it.
func (s *Server) Serve(l net.Listener) error {
	l = listen.New(l, listen.Options{Tell: func(err error, failed int) {
		s.log.Error("jobs cannot be taken for now", "at", l.Addr().String(), "error", err, "attempts", failed)
	}})
	if s.trust != nil {
		l = tls.NewListener(l, s.trust)
	}
	if err := s.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// connected counts connections. Connections without a request are closed to make room for others, so that they
// do not use up the files that the agent may open.
func (s *Server) connected(c net.Conn, now http.ConnState) {
	switch now {
	case http.StateNew:
		if s.conns.Add(1) > int64(2*listen.Strangers()) { // half of these may have a request
			c.Close() // counted until its goroutine has noticed
		}
	case http.StateActive:
		if x := listen.Of(c); x != nil {
			x.Known(nil)
		}
	case http.StateIdle:
		if x := listen.Of(c); x != nil {
			x.Stranger()
		}
	case http.StateClosed:
		s.conns.Add(-1)
	}
}

// Close ends Serve, and running requests a little later, so a slow client delays it only shortly. After it
// returns, the server no longer uses the queue.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	err := s.server.Shutdown(ctx) // lets requests end
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.server.Close() // does not wait
	}
	for s.conns.Load() > 0 {
		time.Sleep(10 * time.Millisecond)
	}
	return err
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	answer, err := s.answer(w, r)
	if err == nil && answer == nil {
		return // the answer has been written
	}
	status := http.StatusOK
	if err != nil {
		// Other errors come from reading the body. The client should learn the reason.
		e := (*Error)(nil)
		if !errors.As(err, &e) {
			e = &Error{Broken, err.Error()}
		}
		status, answer = e.Kind.status(), e
	}
	text, err := json.Marshal(answer)
	if err != nil {
		panic(err) // unreachable: the types of this package can be encoded
	}
	// Receiving the input may have taken longer than the time limit of an answer.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(pause))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

// answer returns the value to send as JSON. It returns nil if it has sent a file.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) (any, error) {
	switch {
	case s.trust == nil && !local(r.Host): // a web page under a name that resolves to this machine
		return nil, &Error{BadSpec, fmt.Sprintf("%.100q is no loopback address", r.Host)}
	case s.trust != nil && owner(r) == "": // a node without a certificate is refused, too
		return nil, &Error{BadSpec, "the certificate has no DNS name"}
	}
	rest, ok := strings.CutPrefix(r.URL.Path, "/v1/jobs")
	if !ok || rest != "" && rest[0] != '/' {
		return nil, &Error{NotFound, fmt.Sprintf("%.100q is not served", r.URL.Path)}
	}
	// Requests that change something need the header, so that a web page in a browser on this machine cannot
	// send them.
	get, post := r.Method == http.MethodGet, r.Method == http.MethodPost
	asked := r.Header.Get(headerJob) != ""
	if rest == "" {
		switch {
		case get:
			return s.queue.Jobs(), nil
		case post && asked:
			return s.submit(w, r)
		}
		return nil, &Error{BadSpec, fmt.Sprintf("%.20q: want GET, or POST with %s", r.Method, headerJob)}
	}
	number, what, _ := strings.Cut(rest[1:], "/")
	id, err := strconv.Atoi(number)
	if err != nil || id < 1 || strconv.Itoa(id) != number {
		return nil, &Error{BadSpec, fmt.Sprintf("%.100q is no number of a job", number)}
	}
	// File names never come from a client: it sends a number, and a word that fileOf knows.
	switch file := fileOf(what); {
	case what == "" && get:
		return s.queue.Job(id)
	case what == "" && r.Method == http.MethodDelete && asked:
		return s.queue.Remove(id)
	case what == "cancel" && post && asked:
		return s.queue.Cancel(id)
	case file != "" && get:
		f, err := s.queue.Open(id, file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return nil, err
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Length", strconv.FormatInt(info.Size(), 10))
		_, _ = io.CopyN(w, f, info.Size()) // the present size; the client notices missing bytes
		return nil, nil
	}
	return nil, &Error{NotFound, fmt.Sprintf("%.20q of %.100q is not served", r.Method, rest)}
}

// submit queues the job of a request.
func (s *Server) submit(w http.ResponseWriter, r *http.Request) (any, error) {
	var spec Spec
	// The Spec is in the header, so that the body is the unchanged file.
	headers := r.Header.Values(headerJob)
	if len(headers) > 1 {
		return nil, &Error{BadSpec, fmt.Sprintf("%d times %s, want one", len(headers), headerJob)}
	}
	d := json.NewDecoder(strings.NewReader(headers[0]))
	d.DisallowUnknownFields()
	if err := decodeAlone(d, &spec); err != nil {
		return nil, &Error{BadSpec, fmt.Sprintf("%s: %v", headerJob, err)}
	}
	// The queue reads the body once it has room for it. Only then is a client that asks first told to send. What
	// a client has sent in vain is dropped, or its connection ends.
	switch {
	case spec.Input == "" && r.ContentLength != 0:
		return nil, &Error{BadSpec, "a body, and no Input"}
	case spec.Input != "" && r.ContentLength <= 0:
		return nil, &Error{BadSpec, "an Input, and no body of a Content-Length"}
	}
	return s.queue.Submit(spec, owner(r), &patient{r.Body, http.NewResponseController(w)}, r.ContentLength)
}

// decodeAlone decodes a value that must be the only one.
func decodeAlone(d *json.Decoder, v any) error {
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("there is text behind it")
	}
	return nil
}

// patient reads a body without a time limit as long as it makes progress.
type patient struct {
	body io.Reader
	conn *http.ResponseController
}

// Read implements [io.Reader].
func (p *patient) Read(b []byte) (int, error) {
	if err := p.conn.SetReadDeadline(time.Now().Add(pause)); err != nil {
		return 0, err
	}
	return p.body.Read(b)
}

// owner returns the name in the client's certificate.
func owner(r *http.Request) string {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 || len(r.TLS.PeerCertificates[0].DNSNames) == 0 {
		return ""
	}
	return r.TLS.PeerCertificates[0].DNSNames[0]
}

// local reports whether host is an address of this machine that no name server can assign to another.
func local(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return host == "localhost" || net.ParseIP(strings.Trim(host, "[]")).IsLoopback()
}
