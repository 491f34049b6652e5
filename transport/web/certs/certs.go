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
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/tessera-la/tessera/internal/atomicfile"
)

// Error reports a problem with a file of a certificate or key.
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

// skew is how far clocks of nodes may differ: certificates are valid from so long before now.
const skew = time.Hour

// Open reads the authority in a directory, or makes one if neither its certificate nor its key is
// there, and reports whether it did. The error is an *Error.
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
		return nil, false, &Error{certPath, fmt.Sprintf("the authority's certificate has expired, on %s",
			pair.Leaf.NotAfter.Format(time.DateOnly)), nil}
	}
	return &Authority{pair.Leaf, key}, false, nil
}

func newAuthority(dir string) (*Authority, error) {
	key, serial, err := newKey()
	if err != nil {
		return nil, &Error{dir, err.Error(), err}
	}
	now := time.Now()
	x := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "Tessera cluster"}, IsCA: true,
		BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, NotBefore: now.Add(-skew),
		NotAfter: now.Add(validAuthority),
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

// nameable matches the names of nodes: valid for directories, and as DNS names, whose labels have
// at most 63 characters. nameMost bounds the whole.
var nameable = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$`)

const nameMost = 200

// device matches names of devices on Windows.
var device = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)`)

// CheckName returns nil if a node may have a name, else an *Error. A certificate, a path and a line
// of a log must be able to carry it, and it must not be a file name of the authority.
func CheckName(name string) error {
	problem := ""
	switch {
	case len(name) > nameMost:
		problem = fmt.Sprintf("it has %d bytes, want %d at most", len(name), nameMost)
	case !nameable.MatchString(name):
		problem = "want letters and digits, with hyphens and dots between them, and at most 63 from dot to dot"
	case strings.EqualFold(name, "ca.crt"), strings.EqualFold(name, "ca.key"):
		problem = "the authority has a file of that name"
	case device.MatchString(name):
		problem = "Windows has a device of that name"
	case net.ParseIP(name) != nil:
		problem = "it is an address, which a certificate does not take for a name"
	}
	if problem == "" {
		return nil
	}
	return &Error{fmt.Sprintf("%.220q", name), "this is no name of a node: " + problem, nil}
}

// Init makes an authority in a directory, unless there is one, and certificates of nodes, each in a
// subdirectory with the node's name. It reports whether it made the authority. After an error it
// leaves nothing new. The error is an *Error.
func Init(dir string, nodes []string, valid time.Duration) (made bool, err error) {
	for i, n := range nodes {
		if err := CheckName(n); err != nil {
			return false, err
		}
		if slices.ContainsFunc(nodes[:i], func(m string) bool { return strings.EqualFold(m, n) }) {
			return false, &Error{n, "a node of this name is there twice", nil}
		}
	}
	if valid <= 0 {
		return false, notValid(dir, valid)
	}
	there := existing(dir)
	a, made, err := Open(dir)
	if err != nil {
		return false, err
	}
	for i, n := range nodes {
		if err := a.Node(filepath.Join(dir, n), n, valid); err != nil {
			// Node has removed its own files.
			for _, n := range nodes[:i] {
				for _, file := range []string{"node.key", "node.crt", "ca.crt"} {
					os.Remove(filepath.Join(dir, n, file))
				}
				os.Remove(filepath.Join(dir, n))
			}
			if made {
				os.Remove(filepath.Join(dir, "ca.key"))
				os.Remove(filepath.Join(dir, "ca.crt"))
				removeEmpty(dir, there)
			}
			return false, err
		}
	}
	return made, nil
}

func notValid(dir string, valid time.Duration) error {
	return &Error{dir, fmt.Sprintf("a certificate cannot be valid for %v", valid), nil}
}

// Exposed returns the keys in a directory, ca.key and node.key, that other users can read by their
// permissions.
func Exposed(dir string) (paths []string) {
	for _, name := range []string{"ca.key", "node.key"} {
		path := filepath.Join(dir, name)
		if s, err := os.Stat(path); err == nil && runtime.GOOS != "windows" && s.Mode().Perm()&0o044 != 0 {
			paths = append(paths, path)
		}
	}
	return paths
}

// existing returns path or the nearest directory above it that exists.
func existing(path string) string {
	for !exists(path) && path != filepath.Dir(path) {
		path = filepath.Dir(path)
	}
	return path
}

// removeEmpty removes empty directories from dir upwards, up to there, which existed before.
func removeEmpty(dir, there string) {
	for dir = filepath.Clean(dir); dir != there && os.Remove(dir) == nil; {
		dir = filepath.Dir(dir)
	}
}

// Node makes the certificate and the key of a node, and writes them with the authority's
// certificate into the directory dir, which it makes. It overwrites nothing, and after an error
// leaves nothing behind. The error is an *Error.
func (a *Authority) Node(dir, name string, valid time.Duration) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if valid <= 0 {
		return notValid(dir, valid)
	}
	key, serial, err := newKey()
	if err != nil {
		return &Error{dir, err.Error(), err}
	}
	now := time.Now()
	end := now.Add(valid)
	if end.After(a.cert.NotAfter) {
		end = a.cert.NotAfter
	}
	x := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotBefore: now.Add(-skew),
		NotAfter: end,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth,
			x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, x, a.cert, &key.PublicKey, a.key)
	if err != nil {
		return &Error{dir, err.Error(), err}
	}
	return write(dir, key, der, "node.key", "node.crt", a.cert.Raw)
}

// Read reads a node's certificate, its key and the cluster's authority from its directory. It
// returns the node's name as well. The error is an *Error: a file is missing, the key is another
// one's, the certificate is another authority's, has no name, or has expired.
func Read(dir string) (config *tls.Config, name string, err error) {
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "node.crt"), filepath.Join(dir, "node.key"))
	if err != nil {
		if all, _ := filepath.Glob(filepath.Join(dir, "*", "node.crt")); len(all) > 0 &&
			!exists(filepath.Join(dir, "node.crt")) {
			return nil, "", &Error{dir, "these are certificates of several nodes: name one of them, as " +
				filepath.Dir(all[0]), nil}
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
	_, err = pair.Leaf.Verify(x509.VerifyOptions{Roots: roots,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	var bad x509.CertificateInvalidError
	switch {
	case errors.As(err, &bad) && bad.Reason == x509.Expired:
		return nil, "", &Error{path, fmt.Sprintf("the certificate is valid from %s to %s, and it is %s",
			pair.Leaf.NotBefore.Format(time.DateTime), pair.Leaf.NotAfter.Format(time.DateTime),
			time.Now().UTC().Format(time.DateTime)), err}
	case err != nil:
		return nil, "", &Error{path, "the authority in ca.crt has not signed it: " + err.Error(), err}
	case len(pair.Leaf.DNSNames) == 0:
		return nil, "", &Error{path, "the certificate has no DNS name, which is the node's name", nil}
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots, MinVersion: tls.VersionTLS13},
		pair.Leaf.DNSNames[0], nil
}

// newKey returns a key and a serial number.
func newKey() (key *ecdsa.PrivateKey, serial *big.Int, err error) {
	if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, nil, err
	}
	serial, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	return key, serial, err
}

// write writes a key and a certificate, and the authority's certificate if it is given, into a
// directory.
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
	there := existing(dir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		removeEmpty(dir, there)
		return &Error{dir, err.Error(), err}
	}
	// All files get their names or none: a key without its certificate would prevent another
	// attempt.
	var parts []*atomicfile.File
	fail := func(path string, err error) error {
		for _, f := range parts {
			f.Discard()
		}
		for i := range parts { // none of them existed before
			os.Remove(filepath.Join(dir, files[i].name))
		}
		removeEmpty(dir, there)
		return &Error{path, err.Error(), err}
	}
	for _, f := range files {
		path := filepath.Join(dir, f.name)
		part, err := atomicfile.Create(path, f.mode)
		if err != nil {
			return fail(path, err)
		}
		parts = append(parts, part)
		if err := pem.Encode(part, &pem.Block{Type: f.kind, Bytes: f.der}); err != nil {
			return fail(path, err)
		}
	}
	if err := atomicfile.Commit(parts...); err != nil {
		return fail(dir, err)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
