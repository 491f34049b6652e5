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

// Client asks the server of an agent.
type Client struct {
	address, base string
	http          *http.Client
	silence       time.Duration // the longest until an answer begins, if only it is asked for
}

// dialing is how long a connection may take to come about.
const dialing = 10 * time.Second

// NewClient returns a client of the server at an address. Config is that of a connection with it;
// nil means none, on a loopback address.
func NewClient(address string, config *tls.Config) *Client {
	base := "http://"
	if config != nil {
		base = "https://"
	}
	// A time limit of the whole request would end large matrices: do watches over silence instead.
	return &Client{address, base + address + "/v1/jobs", &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // no agent says so
		Transport: &http.Transport{
			DialContext: (&net.Dialer{Timeout: dialing}).DialContext, TLSClientConfig: config, TLSHandshakeTimeout: dialing,
			ExpectContinueTimeout: pause, DisableCompression: true,
		},
	}, pause}
}

// Close ends the client's connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// do asks, and gives the body of an answer to take. The error is an *Error.
func (c *Client) do(ctx context.Context, method, path string, spec *Spec, input io.Reader, size int64, take func(io.Reader) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// A request ends if nothing goes or comes for so long: late is put off with each piece of an
	// input, and once more when the answer begins.
	wait := c.silence
	if input != nil {
		wait = answerMost // the agent answers when all is on its disk
	}
	late := time.AfterFunc(wait, func() { cancel(context.DeadlineExceeded) })
	defer late.Stop()
	q, err := http.NewRequestWithContext(ctx, method, c.base+path, nil)
	if err != nil {
		return &Error{BadSpec, err.Error()}
	}
	if method != http.MethodGet { // the server asks for the header with all that changes something
		text, err := json.Marshal(spec)
		if err != nil {
			return &Error{BadSpec, err.Error()}
		}
		q.Header.Set(headerJob, string(text))
	}
	if input != nil {
		q.Body, q.ContentLength = io.NopCloser(&upload{input, late}), size
		// The agent says whether it wants the matrix before it is sent. Otherwise the connection
		// might break while it is, and the refusal would be lost.
		q.Header.Set("Expect", "100-continue")
	}
	a, err := c.http.Do(q)
	if err != nil {
		if u := (*url.Error)(nil); errors.As(err, &u) {
			err = u.Err // without the address, which is said once
		}
		if strings.Contains(err.Error(), "HTTP response to HTTPS client") { // net/http says so
			return &Error{Broken, c.address + " takes jobs without certificates: leave --certs out"}
		}
		return &Error{Broken, fmt.Sprintf("%s does not answer: %v", c.address, err)}
	}
	defer a.Body.Close()
	late.Reset(answerMost)
	// Refusals are JSON. What is none comes from something else that listens there.
	if a.StatusCode != http.StatusOK {
		e := &Error{}
		text, _ := io.ReadAll(io.LimitReader(a.Body, 1<<20))
		if err := json.Unmarshal(text, e); err != nil || e.Kind == "" {
			if strings.Contains(string(text), "HTTP request to an HTTPS server") { // net/http says so
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

// upload is an input that is sent. As long as more of it goes, it may take any time.
type upload struct {
	io.Reader
	late *time.Timer
}

func (u *upload) Read(b []byte) (int, error) {
	u.late.Reset(answerMost)
	return u.Reader.Read(b)
}

// into returns what decodes JSON.
func into(v any) func(io.Reader) error {
	return func(r io.Reader) error { return decodeAlone(json.NewDecoder(r), v) }
}

// Submit submits a job, with a file of so many bytes if the Spec has an input. The error is an
// *Error, as are those of the other methods. All of them return when ctx ends.
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

// Remove removes a job that has ended, with its files.
func (c *Client) Remove(ctx context.Context, id int) (j Job, err error) {
	err = c.do(ctx, http.MethodDelete, fmt.Sprintf("/%d", id), nil, nil, 0, into(&j))
	return j, err
}

// Cancel cancels a job, unless it has ended.
func (c *Client) Cancel(ctx context.Context, id int) (j Job, err error) {
	err = c.do(ctx, http.MethodPost, fmt.Sprintf("/%d/cancel", id), nil, nil, 0, into(&j))
	return j, err
}

// Fetch writes a file of a job: its "log", its "report" or the "text" of that for people, or the "matrix"
// of its result.
func (c *Client) Fetch(ctx context.Context, id int, what string, to io.Writer) error {
	return c.do(ctx, http.MethodGet, fmt.Sprintf("/%d/%s", id, what), nil, nil, 0, func(r io.Reader) error {
		_, err := io.Copy(to, r)
		return err
	})
}
