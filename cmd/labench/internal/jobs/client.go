package jobs

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Client sends requests to the server of an agent.
type Client struct {
	address, base string
	http          *http.Client
	silence       time.Duration // longest time until an answer begins, for requests without input
}

// dialing is the time limit for setting up a connection.
const dialing = 10 * time.Second

// NewClient returns a client of the server at an address. config is for TLS; nil means a connection without
// TLS, to a loopback address.
func NewClient(address string, config *tls.Config) *Client {
	base := "http://"
	if config != nil {
		base = "https://"
	}
	// A time limit of the whole request would end large matrices. do limits the time without progress instead.
	return &Client{address, base + address + "/v1/jobs", &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // no redirects
		Transport: &http.Transport{
			DialContext: (&net.Dialer{Timeout: dialing}).DialContext, TLSClientConfig: config, TLSHandshakeTimeout: dialing,
			ExpectContinueTimeout: pause, DisableCompression: true,
		},
	}, pause}
}

// Close ends the client's connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// do sends a request and passes the body of the answer to take. The error is an *Error.
func (c *Client) do(ctx context.Context, method, path string, spec *Spec, input io.Reader, size int64, take func(io.Reader) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// The request ends if nothing is sent or received for the time wait. late is reset with each piece of the
	// input, and again when the answer begins.
	wait := c.silence
	if input != nil {
		wait = answerMost // the agent answers once all of the input is on its disk
	}
	late := time.AfterFunc(wait, func() { cancel(context.DeadlineExceeded) })
	defer late.Stop()
	q, err := http.NewRequestWithContext(ctx, method, c.base+path, nil)
	if err != nil {
		return &Error{BadSpec, err.Error()}
	}
	if method != http.MethodGet { // the server requires the header of requests that change something
		text, err := json.Marshal(spec)
		if err != nil {
			return &Error{BadSpec, err.Error()}
		}
		q.Header.Set(headerJob, string(text))
	}
	if input != nil {
		q.Body, q.ContentLength = io.NopCloser(&upload{input, late}), size
		// The agent says whether it accepts the matrix before the client sends it. Otherwise the connection might
		// break meanwhile, and the refusal would be lost.
		q.Header.Set("Expect", "100-continue")
	}
	a, err := c.http.Do(q)
	if err != nil {
		if u := (*url.Error)(nil); errors.As(err, &u) {
			err = u.Err // without the address, which the message has already
		}
		if strings.Contains(err.Error(), "HTTP response to HTTPS client") { // text of net/http
			return &Error{Broken, c.address + " takes jobs without certificates: leave --certs out"}
		}
		return &Error{Broken, fmt.Sprintf("%s does not answer: %v", c.address, err)}
	}
	defer a.Body.Close()
	late.Reset(answerMost)
	// Refusals are JSON. Another answer comes from another program at the address.
	if a.StatusCode != http.StatusOK {
		e := &Error{}
		text, _ := io.ReadAll(io.LimitReader(a.Body, 1<<20))
		if err := json.Unmarshal(text, e); err != nil || e.Kind == "" {
			if strings.Contains(string(text), "HTTP request to an HTTPS server") { // text of net/http
				return &Error{Broken, c.address + " wants a certificate of the cluster: --certs"}
			}
			return &Error{Broken, fmt.Sprintf("%s answers with status %d, as nothing does that takes jobs", c.address, a.StatusCode)}
		}
		return e
	}
	if err := take(a.Body); err != nil {
		return &Error{Broken, fmt.Sprintf("the answer of %s: %v", c.address, err)}
	}
	return nil
}

// upload is an input that is sent. It has no time limit as long as it makes progress.
type upload struct {
	io.Reader
	late *time.Timer
}

func (u *upload) Read(b []byte) (int, error) {
	u.late.Reset(answerMost)
	return u.Reader.Read(b)
}

// into returns a function that decodes JSON into v.
func into(v any) func(io.Reader) error {
	return func(r io.Reader) error { return decodeAlone(json.NewDecoder(r), v) }
}

// Submit submits a job, with a file of size bytes if the Spec has an input. The error is an *Error, as with the
// other methods. All of them return when ctx ends.
func (c *Client) Submit(ctx context.Context, s Spec, input io.Reader, size int64) (j Job, err error) {
	err = c.do(ctx, http.MethodPost, "", &s, input, size, into(&j))
	return j, err
}

// Jobs returns all jobs, the oldest first.
func (c *Client) Jobs(ctx context.Context) (all []Job, err error) {
	err = c.do(ctx, http.MethodGet, "", nil, nil, 0, into(&all))
	return all, err
}

// Job returns a job.
func (c *Client) Job(ctx context.Context, id int) (j Job, err error) {
	err = c.do(ctx, http.MethodGet, fmt.Sprintf("/%d", id), nil, nil, 0, into(&j))
	return j, err
}

// Remove removes a finished job with its files.
func (c *Client) Remove(ctx context.Context, id int) (j Job, err error) {
	err = c.do(ctx, http.MethodDelete, fmt.Sprintf("/%d", id), nil, nil, 0, into(&j))
	return j, err
}

// Cancel cancels a job, unless it has ended.
func (c *Client) Cancel(ctx context.Context, id int) (j Job, err error) {
	err = c.do(ctx, http.MethodPost, fmt.Sprintf("/%d/cancel", id), nil, nil, 0, into(&j))
	return j, err
}

// Fetch writes a file of a job to the writer to. what is "log", "report", "text" (the report for people) or
// "matrix" (the result).
func (c *Client) Fetch(ctx context.Context, id int, what string, to io.Writer) error {
	return c.do(ctx, http.MethodGet, fmt.Sprintf("/%d/%s", id, what), nil, nil, 0, func(r io.Reader) error {
		_, err := io.Copy(to, r)
		return err
	})
}
