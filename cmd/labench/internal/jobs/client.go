package jobs

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/valyala/fasthttp"
)

// Client asks the server of an agent.
type Client struct {
	address string
	http    *fasthttp.HostClient
}

// dialing is how long a connection may take to come about.
const dialing = 10 * time.Second

// NewClient returns a client of the server at an address. Config is that of a connection with it;
// nil means none, on a loopback address.
func NewClient(address string, config *tls.Config) *Client {
	return &Client{address, &fasthttp.HostClient{
		Addr: address, Name: "tessera", StreamResponseBody: true, MaxIdemponentCallAttempts: 1, ReadTimeout: answerMost, WriteTimeout: answerMost,
		Dial: func(address string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(context.Background(), dialing)
			defer cancel()
			c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
			if err != nil || config == nil {
				return c, err
			}
			t := tls.Client(c, config)
			if err := t.HandshakeContext(ctx); err != nil {
				c.Close()
				return nil, err
			}
			return t, nil
		},
	}}
}

// Close ends the client's connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// do asks, and gives the body of an answer to take. The error is an *Error.
func (c *Client) do(method, path string, spec *Spec, input io.Reader, size int64, take func(io.Reader) error) error {
	q, a := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(q)
	defer fasthttp.ReleaseResponse(a)
	q.SetRequestURI("http://" + c.address + "/v1/jobs" + path) // Dial makes the connection, TLS included
	q.Header.SetMethod(method)
	if method == fasthttp.MethodPost {
		text, err := json.Marshal(spec)
		if err != nil {
			return &Error{BadSpec, err.Error()}
		}
		q.Header.SetBytesV(headerJob, text)
	}
	if input != nil {
		q.SetBodyStream(input, int(size))
	}
	if err := c.http.Do(q, a); err != nil {
		return &Error{Broken, fmt.Sprintf("%s does not answer: %v", c.address, err)}
	}
	body := a.BodyStream()
	if a.StatusCode() != fasthttp.StatusOK {
		e := &Error{}
		if err := json.NewDecoder(io.LimitReader(body, 1<<20)).Decode(e); err != nil || e.Kind == "" {
			return &Error{Broken, fmt.Sprintf("%s answers with status %d, as nothing does that takes jobs", c.address, a.StatusCode())}
		}
		return e
	}
	if err := take(body); err != nil {
		return &Error{Broken, fmt.Sprintf("the answer of %s: %v", c.address, err)}
	}
	return nil
}

// into returns what decodes JSON.
func into(v any) func(io.Reader) error {
	return func(r io.Reader) error { return json.NewDecoder(r).Decode(v) }
}

// Submit submits a job, with a file of so many bytes if the Spec has an input. The error is an
// *Error, as are those of the other methods.
func (c *Client) Submit(s Spec, input io.Reader, size int64) (j Job, err error) {
	err = c.do(fasthttp.MethodPost, "", &s, input, size, into(&j))
	return j, err
}

// Jobs returns all jobs, the oldest first.
func (c *Client) Jobs() (all []Job, err error) {
	err = c.do(fasthttp.MethodGet, "", nil, nil, 0, into(&all))
	return all, err
}

// Job returns a job.
func (c *Client) Job(id int) (j Job, err error) {
	err = c.do(fasthttp.MethodGet, fmt.Sprintf("/%d", id), nil, nil, 0, into(&j))
	return j, err
}

// Cancel cancels a job.
func (c *Client) Cancel(id int) (j Job, err error) {
	err = c.do(fasthttp.MethodPost, fmt.Sprintf("/%d/cancel", id), nil, nil, 0, into(&j))
	return j, err
}

// Fetch writes a file of a job: its "log", its "report", or the "matrix" of its result.
func (c *Client) Fetch(id int, what string, to io.Writer) error {
	return c.do(fasthttp.MethodGet, fmt.Sprintf("/%d/%s", id, what), nil, nil, 0, func(r io.Reader) error {
		_, err := io.Copy(to, r)
		return err
	})
}
