package web

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// castagnoli is the CRC polynomial for which processors have an instruction.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// The body of an answer with a value is its encoding, followed by the CRC-32C of that,
// little-endian: so the sender reads a value once.
const (
	sumBytes = 4
	sumLast  = "last" // value of headerSum: the checksum is at the end
)

// body is a value as the body of an answer, with its checksum. Bytes go from the value's memory to
// the connection.
type body struct {
	value versions.Value
	conn  net.Conn
	idle  time.Duration // time for the receiver to take a piece
	late  func(error)   // called if it has not taken one
	done  func()        // called when nothing reads the value any more
}

// SupportsBodyWriteTo makes fasthttp call WriteTo.
func (b *body) SupportsBodyWriteTo() bool { return true }

// WriteTo implements [io.WriterTo].
func (b *body) WriteTo(w io.Writer) (int64, error) {
	p := &pieces{counter: counter{w: w}, conn: b.conn, idle: b.idle}
	err := b.value.Encode(p)
	if err == nil {
		_, err = p.Write(binary.LittleEndian.AppendUint32(nil, p.sum))
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		b.late(err)
	}
	return p.n, err
}

// Read implements [io.Reader]. fasthttp does not call it.
func (b *body) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// Close implements [io.Closer].
func (b *body) Close() error {
	b.done()
	return nil
}

// counter counts the bytes written.
type counter struct {
	w io.Writer
	n int64
}

// Write implements [io.Writer].
func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

// query returns a Ref as a query.
func query(r transport.Ref) string {
	return fmt.Sprintf("job=%d&matrix=%d&i=%d&j=%d&version=%d", r.Job, r.Matrix, r.I, r.J, r.Version)
}

// parse is the inverse of query.
func parse(s string) (r transport.Ref, err error) {
	q, err := url.ParseQuery(s)
	if err != nil {
		return r, err
	}
	number := func(name string, bits int) (n int64) {
		if err == nil {
			n, err = strconv.ParseInt(q.Get(name), 10, bits)
		}
		return n
	}
	unsigned := func(name string, bits int) (n uint64) {
		if err == nil {
			n, err = strconv.ParseUint(q.Get(name), 10, bits)
		}
		return n
	}
	r = transport.Ref{Job: unsigned("job", 64), Matrix: uint32(unsigned("matrix", 32)), I: int32(number("i", 32)),
		J: int32(number("j", 32)), Version: uint32(unsigned("version", 32))}
	return r, err
}

// pieceSize is how many bytes are written at a time, each with a time-out of its own.
const pieceSize = 256 << 10

// pieces is a writer with a time-out for each piece that computes the checksum of all of them.
type pieces struct {
	counter
	sum  uint32
	conn net.Conn
	idle time.Duration
}

// Write implements [io.Writer].
func (p *pieces) Write(b []byte) (n int, err error) {
	for err == nil && n < len(b) {
		if err = p.conn.SetWriteDeadline(time.Now().Add(p.idle)); err != nil {
			break
		}
		var k int
		piece := b[n:min(len(b), n+pieceSize)]
		p.sum = crc32.Update(p.sum, castagnoli, piece) // brings the piece into the cache
		k, err = p.counter.Write(piece)
		n += k
	}
	return n, err
}
