package web

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"time"
)

// Options configures a node.
type Options struct {
	// Name is the node's name. With TLS it is the first DNS name of its certificate, or that
	// name, a slash, and letters and digits, as of a second node with one certificate.
	Name string
	// Listen is the address to listen on, as in "10.0.0.1:7000" or "127.0.0.1:0".
	Listen string
	// Address is what others reach it at, if that is not where it listens; to listen on
	// all addresses of the machine needs one. Empty means Listen.
	Address string
	// Peers are addresses of some other nodes, which need not be there yet.
	Peers []string
	// TLS has the node's certificate and, in RootCAs, the cluster's authority. Versions
	// below 1.3 are not spoken, whatever it says.
	TLS *tls.Config
	// Plain goes without TLS, on the loopback address only.
	Plain bool
	// Greet is how often nodes greet each other; 0 means each second. Timeout is after
	// how long a node that does not answer has left; 0 means four times Greet. No
	// request takes longer, but for values, which may take ten times as long if bytes of
	// them come within each Timeout.
	Greet, Timeout time.Duration
	// Memory is how many bytes of operands the node may have, 0 if that has no limit. Messages and
	// values that are on their way to it have half of that, or else 1 GiB: more wait. A larger one
	// goes alone; a value of more than Memory is refused.
	Memory int64
	// Log is told what was refused; nil means slog.Default.
	Log *slog.Logger
}

// OptionsError says what is wrong with an Options.
type OptionsError struct{ Problem string }

func (e *OptionsError) Error() string { return "transport: " + e.Problem }

// check sets defaults. The error is an *OptionsError.
func (o *Options) check() error {
	host, _, err := net.SplitHostPort(o.Listen)
	_, named := nodeOf(o.Name)
	switch {
	case o.Name == "" || len(o.Name) > 200:
		return &OptionsError{"a node needs a name of at most 200 bytes"}
	case !named:
		return &OptionsError{fmt.Sprintf("%q is no name of a node: that has no slash, or one with letters and digits behind it", o.Name)}
	case err != nil:
		return &OptionsError{fmt.Sprintf("address to listen on: %v", err)}
	case o.Address == "" && (host == "" || net.ParseIP(host).IsUnspecified()):
		return &OptionsError{fmt.Sprintf("to listen on %s needs an Address that others reach", o.Listen)}
	case (o.TLS == nil) != o.Plain:
		return &OptionsError{"a node needs either TLS or Plain"}
	case o.Plain && !net.ParseIP(host).IsLoopback():
		return &OptionsError{fmt.Sprintf("%s is no loopback address, and Plain is for these only", o.Listen)}
	case o.Greet < 0 || o.Timeout < 0 || o.Memory < 0:
		return &OptionsError{"Greet, Timeout and Memory must not be negative"}
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
	return nil
}

// Secure returns the configurations of both sides of a connection between nodes, or with one.
// Both verify the other one's certificate against the authority in RootCAs.
func Secure(base *tls.Config) (server, client *tls.Config) {
	server = base.Clone()
	server.MinVersion = tls.VersionTLS13
	server.ClientAuth, server.ClientCAs = tls.RequireAndVerifyClientCert, base.RootCAs
	client = base.Clone()
	client.MinVersion = tls.VersionTLS13
	// A node is found by its address, and its name is known when it has shown its
	// certificate: verify checks all but the name, and peer returns it.
	client.InsecureSkipVerify = true
	client.VerifyConnection = func(c tls.ConnectionState) error { return verify(c, base) }
	return server, client
}
