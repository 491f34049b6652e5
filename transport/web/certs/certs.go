package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// Error says what is wrong with a file of a certificate or key.
type Error struct {
	Path    string
	Problem string
	Err     error // the cause, if there is one
}

func (e *Error) Error() string { return e.Path + ": " + e.Problem }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Authority signs the certificates of nodes.
type Authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// validAuthority is how long the certificate of an authority is valid.
const validAuthority = 20 * 365 * 24 * time.Hour

// skew is how far clocks of nodes may differ: a certificate is valid from so long ago.
const skew = time.Hour

// Open reads the authority in a directory, or makes one if there is neither its certificate
// nor its key, and reports whether it did. The error is an *Error.
func Open(dir string) (a *Authority, made bool, err error) {
	certPath, keyPath := filepath.Join(dir, "ca.crt"), filepath.Join(dir, "ca.key")
	if !exists(certPath) && !exists(keyPath) {
		a, err = newAuthority(dir)
		return a, err == nil, err
	}
	pair, err := tls.LoadX509KeyPair(certPath, keyPath)
	if err != nil {
		return nil, false, &Error{dir, "the authority cannot be read from ca.crt and ca.key: " + err.Error(), err}
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	switch now := time.Now(); {
	case !ok || !pair.Leaf.IsCA:
		return nil, false, &Error{certPath, "this is no authority that was made here", nil}
	case now.After(pair.Leaf.NotAfter):
		return nil, false, &Error{certPath, fmt.Sprintf("the authority's certificate has expired, on %s", pair.Leaf.NotAfter.Format(time.DateOnly)), nil}
	}
	return &Authority{pair.Leaf, key}, false, nil
}

func newAuthority(dir string) (*Authority, error) {
	key, serial, err := fresh()
	if err != nil {
		return nil, &Error{dir, err.Error(), err}
	}
	now := time.Now()
	x := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "Tessera cluster"}, IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, NotBefore: now.Add(-skew), NotAfter: now.Add(validAuthority),
	}
	der, err := x509.CreateCertificate(rand.Reader, x, x, &key.PublicKey, key)
	if err != nil {
		return nil, &Error{dir, err.Error(), err}
	}
	a := &Authority{key: key}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		return nil, &Error{dir, err.Error(), err}
	}
	return a, write(dir, key, der, "ca.key", "ca.crt", nil)
}

// nameable is what a node may be called: a directory's name, and a DNS name.
var nameable = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]{0,198}[A-Za-z0-9])?$`)

// Node makes the certificate and the key of a node, and puts them with the authority's
// certificate into a directory of its own, which is made. Nothing is written over. The error
// is an *Error.
func (a *Authority) Node(dir, name string, valid time.Duration) error {
	switch {
	case !nameable.MatchString(name):
		return &Error{dir, fmt.Sprintf("%q is no name of a node: want letters, digits, dots and hyphens", name), nil}
	case valid <= 0:
		return &Error{dir, fmt.Sprintf("a certificate cannot be valid for %v", valid), nil}
	}
	key, serial, err := fresh()
	if err != nil {
		return &Error{dir, err.Error(), err}
	}
	now := time.Now()
	end := now.Add(valid)
	if end.After(a.cert.NotAfter) {
		end = a.cert.NotAfter
	}
	x := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotBefore: now.Add(-skew), NotAfter: end,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, x, a.cert, &key.PublicKey, a.key)
	if err != nil {
		return &Error{dir, err.Error(), err}
	}
	return write(dir, key, der, "node.key", "node.crt", a.cert.Raw)
}

// Read reads what a node needs from its directory: its certificate and key, and the authority
// of the cluster. It returns the node's name as well. The error is an *Error: a file is not
// there, the key is another one's, the certificate is another authority's, has no name, or has
// expired.
func Read(dir string) (config *tls.Config, name string, err error) {
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "node.crt"), filepath.Join(dir, "node.key"))
	if err != nil {
		if all, _ := filepath.Glob(filepath.Join(dir, "*", "node.crt")); len(all) > 0 && !exists(filepath.Join(dir, "node.crt")) {
			return nil, "", &Error{dir, "these are certificates of several nodes: name one of them, as " + filepath.Dir(all[0]), nil}
		}
		return nil, "", &Error{dir, "node.crt and node.key cannot be read: " + err.Error(), err}
	}
	path := filepath.Join(dir, "ca.crt")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, "", &Error{path, "the authority's certificate cannot be read: " + err.Error(), err}
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, "", &Error{path, "there is no certificate in it", nil}
	}
	path = filepath.Join(dir, "node.crt")
	_, err = pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	var bad x509.CertificateInvalidError
	switch {
	case errors.As(err, &bad) && bad.Reason == x509.Expired:
		return nil, "", &Error{path, fmt.Sprintf("the certificate is valid from %s to %s, and it is %s", pair.Leaf.NotBefore.Format(time.DateTime), pair.Leaf.NotAfter.Format(time.DateTime), time.Now().UTC().Format(time.DateTime)), err}
	case err != nil:
		return nil, "", &Error{path, "the authority in ca.crt has not signed it: " + err.Error(), err}
	case len(pair.Leaf.DNSNames) == 0:
		return nil, "", &Error{path, "the certificate has no DNS name, which is the node's name", nil}
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots, MinVersion: tls.VersionTLS13}, pair.Leaf.DNSNames[0], nil
}

// fresh returns a key and a serial number.
func fresh() (key *ecdsa.PrivateKey, serial *big.Int, err error) {
	if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, nil, err
	}
	serial, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	return key, serial, err
}

// write writes a key and a certificate, and the authority's if it is given, into a directory.
func write(dir string, key *ecdsa.PrivateKey, cert []byte, keyName, certName string, authority []byte) error {
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return &Error{dir, err.Error(), err}
	}
	files := []struct {
		name, kind string
		der        []byte
		mode       fs.FileMode
	}{{keyName, "PRIVATE KEY", secret, 0o600}, {certName, "CERTIFICATE", cert, 0o644}}
	if authority != nil {
		files = append(files, files[1])
		files[2].name, files[2].der = "ca.crt", authority
	}
	for _, f := range files {
		if path := filepath.Join(dir, f.name); exists(path) {
			return &Error{path, "it is there already, and is not written over", fs.ErrExist}
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return &Error{dir, err.Error(), err}
	}
	for _, f := range files {
		path := filepath.Join(dir, f.name)
		if err := create(path, pem.EncodeToMemory(&pem.Block{Type: f.kind, Bytes: f.der}), f.mode); err != nil {
			return &Error{path, err.Error(), err}
		}
	}
	return nil
}

// create writes a file that is not there yet.
func create(path string, text []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
