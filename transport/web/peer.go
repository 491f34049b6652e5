package web

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"strings"
)

// errNoName says that a certificate names no node.
var errNoName = errors.New("the certificate has no DNS name")

// verify checks the other side's certificate, except its name.
func verify(c tls.ConnectionState, base *tls.Config) error {
	if len(c.PeerCertificates) == 0 {
		return errors.New("no certificate")
	}
	opt := x509.VerifyOptions{Roots: base.RootCAs, Intermediates: x509.NewCertPool(),
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	if base.Time != nil {
		opt.CurrentTime = base.Time()
	}
	for _, x := range c.PeerCertificates[1:] {
		opt.Intermediates.AddCert(x)
	}
	_, err := c.PeerCertificates[0].Verify(opt)
	return err
}

// peer returns the name of the node on the other side.
func peer(c tls.ConnectionState) (string, error) {
	if len(c.PeerCertificates) == 0 || len(c.PeerCertificates[0].DNSNames) == 0 {
		return "", errNoName
	}
	return c.PeerCertificates[0].DNSNames[0], nil
}

// speaks reports whether the owner of a node's certificate may use a name: the node's own, or one
// that the node has derived from it, as "node1/job7". A certificate whose name has a slash may use
// none.
func speaks(certificate, name string) bool {
	node, ok := nodeOf(name)
	return ok && node == certificate
}

// nodeOf returns the node in a name, and reports whether the name is valid: a node's name has no
// slash, and a derived one has a slash with letters and digits behind it.
func nodeOf(name string) (node string, ok bool) {
	node, own, slash := strings.Cut(name, "/")
	strange := strings.ContainsFunc(own, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9')
	})
	return node, node != "" && slash == (own != "") && !strange
}
