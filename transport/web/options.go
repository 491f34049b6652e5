package web

import (
	"crypto/tls"
	"log/slog"
	"net"
	"time"

	"github.com/tessera-la/tessera/internal/problems"
)

// Options configures a node.
type Options struct {
	// Name is the node's name. With TLS it is the first DNS name of its certificate, or that
	// name, a slash, and letters and digits, as of a second node with one certificate.
	Name string
	// Listen is the address to listen on, as in "10.0.0.1:7000" or "127.0.0.1:0".
	Listen string
	// Address is the address at which other nodes reach it, if that is not where it listens; a node
	// that listens on all addresses of the machine needs one. Empty means Listen.
	Address string
	// Peers are addresses of some other nodes, which need not be there yet.
	Peers []string
	// TLS has the node's certificate and, in RootCAs, the cluster's authority. Versions below 1.3
	// are never used.
	TLS *tls.Config
	// Plain turns TLS off, on the loopback address only.
	Plain bool
	// Greet is how often nodes greet each other; 0 means each second. Timeout is how long a node
	// may not answer before it has left; 0 means four times Greet. No request takes longer, except
	// for values, which may take ten times as long if bytes of them arrive within each Timeout.
	Greet, Timeout time.Duration
	// Memory is the node's limit for bytes of operands, 0 if it has none. Messages and values on
	// their way to it have half of that, or else 1 GiB: more wait. A larger one goes alone; a value
	// of more than Memory is refused.
	Memory int64
	// Log gets refusals; nil means slog.Default.
	Log *slog.Logger
}

// OptionsError lists everything that is wrong with an Options.
type OptionsError struct{ Problems []string }

func (e *OptionsError) Error() string { return problems.InvalidOptions("transport", e.Problems) }

// withDefaults validates o and returns it with defaults in its zero fields. The error is an *OptionsError.
func (o Options) withDefaults() (Options, error) {
	var bad problems.List
	if _, named := nodeOf(o.Name); o.Name == "" || len(o.Name) > 200 {
		bad.Add("a node needs a name of at most 200 bytes")
	} else if !named {
		bad.Add("%q is no name of a node: that has no slash, or one with letters and digits behind it", o.Name)
	}
	host, _, err := net.SplitHostPort(o.Listen)
	switch {
	case err != nil:
		bad.Add("address to listen on: %v", err)
	case o.Address == "" && (host == "" || net.ParseIP(host).IsUnspecified()):
		bad.Add("to listen on %s needs an Address that others reach", o.Listen)
	case o.Plain && o.TLS == nil && !net.ParseIP(host).IsLoopback():
		bad.Add("%s is no loopback address, and Plain is for these only", o.Listen)
	}
	bad.Check((o.TLS == nil) == o.Plain, "a node needs either TLS or Plain")
	bad.Check(min(o.Greet, o.Timeout) >= 0 && o.Memory >= 0, "Greet, Timeout and Memory must not be negative")
	if bad != nil {
		return o, &OptionsError{bad}
	}
	if o.Greet == 0 {
		o.Greet = time.Second
	}
	if o.Timeout == 0 {
		o.Timeout = 4 * o.Greet
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o, nil
}

// Secure returns the configurations of the server's and the client's side of connections between
// nodes. Both verify the other side's certificate against the authority in RootCAs.
func Secure(base *tls.Config) (server, client *tls.Config) {
	server = base.Clone()
	server.MinVersion = tls.VersionTLS13
	server.ClientAuth, server.ClientCAs = tls.RequireAndVerifyClientCert, base.RootCAs
	client = base.Clone()
	client.MinVersion = tls.VersionTLS13
	// The client knows the address, and learns the name from the certificate: verify checks all but
	// the name, and peer returns it.
	client.InsecureSkipVerify = true
	client.VerifyConnection = func(c tls.ConnectionState) error { return verify(c, base) }
	return server, client
}
