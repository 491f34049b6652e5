package file

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// npyMaxHeader is the length of the longest header that is read. A header of
// version 1.0 cannot be longer. Versions 2.0 and 3.0 exist for structured types
// with very many fields, which cannot become a Matrix.
const npyMaxHeader = 1 << 16

// npyHeader is the header of a .npy file.
type npyHeader struct {
	dtype   npyType
	fortran bool  // column-major; set for column vectors and not set for row vectors, which are contiguous in either order
	m, n    int64 // rows and columns; n = 1 for 1-D arrays
	offset  int64 // of the data in the file
}

// npyType is the type of the elements: kind 'f', 'i', 'u' or 'b' as in NumPy,
// the size in bytes, and whether the bytes are big endian.
type npyType struct {
	kind byte
	size int
	big  bool
}

// dataBytes returns the number of bytes of the elements. It returns false if the
// number overflows int64.
func (h *npyHeader) dataBytes() (int64, bool) {
	hi, elems := bits.Mul64(uint64(h.m), uint64(h.n))
	if hi != 0 || elems > math.MaxInt64/8 {
		return 0, false
	}
	return int64(elems) * int64(h.dtype.size), true
}

// lines returns the number of lines of a block of r×c elements, and their length. Lines are rows, or in
// Fortran order columns.
func (h *npyHeader) lines(r, c int) (lines, length int) {
	if h.fortran {
		return c, r
	}
	return r, c
}

// lineOffset returns the offset of line k of a block, in bytes from the first element of the array. The
// first element of the block is element (i0, j0) of the array.
func (h *npyHeader) lineOffset(i0, j0, k int) int64 {
	if h.fortran {
		return ((int64(j0)+int64(k))*h.m + int64(i0)) * int64(h.dtype.size)
	}
	return ((int64(i0)+int64(k))*h.n + int64(j0)) * int64(h.dtype.size)
}

// readNPYHeader reads the header of a .npy file, and no byte after it.
func readNPYHeader(r io.Reader) (*npyHeader, error) {
	var pre [12]byte
	if _, err := io.ReadFull(r, pre[:8]); err != nil {
		return nil, contentError(0, err)
	}
	if string(pre[:6]) != npyMagic {
		reason := "no .npy file: it does not begin with \\x93NUMPY"
		if what := foreign(pre[:8]); what != "" {
			reason = "no .npy file, but " + what
		}
		return nil, &FormatError{Reason: reason}
	}
	major, minor := pre[6], pre[7]
	width := 4
	switch {
	case minor != 0 || major < 1 || major > 3:
		return nil, &FormatError{Reason: fmt.Sprintf("version %d.%d of the .npy format is unknown; known: 1.0, 2.0, 3.0", major, minor)}
	case major == 1:
		width = 2
	}
	if _, err := io.ReadFull(r, pre[8:8+width]); err != nil {
		return nil, contentError(0, err)
	}
	length := binary.LittleEndian.Uint32(pre[8:]) // the upper half is zero in version 1.0
	if length > npyMaxHeader {
		return nil, &FormatError{Reason: fmt.Sprintf(".npy header of %d bytes; at most %d are accepted", length, npyMaxHeader)}
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, contentError(0, err)
	}
	p := npyParser{text: text}
	h := p.dict()
	if p.reason != "" {
		return nil, &FormatError{Reason: ".npy header: " + p.reason}
	}
	h.fortran = h.fortran && h.m != 1 || h.n == 1
	h.offset = int64(8+width) + int64(length)
	return h, nil
}

// npyParser parses the text of the header: a Python dictionary with the keys
// 'descr', 'fortran_order' and 'shape'. reason is the first problem, "" if there
// is none.
type npyParser struct {
	text   []byte
	pos    int
	reason string
}

func (p *npyParser) fail(format string, args ...any) {
	if p.reason == "" {
		p.reason = fmt.Sprintf(format, args...)
	}
}

// next skips blanks and returns the next byte without consuming it. It returns 0 at the end.
func (p *npyParser) next() byte {
	for ; p.pos < len(p.text); p.pos++ {
		switch c := p.text[p.pos]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// take consumes the next byte if it is c, and reports whether it was.
func (p *npyParser) take(c byte) bool {
	if p.reason == "" && p.next() == c && p.pos < len(p.text) {
		p.pos++
		return true
	}
	return false
}

func (p *npyParser) expect(c byte) {
	if !p.take(c) {
		p.fail("%q expected at byte %d", c, p.pos)
	}
}

// quoted consumes a string in single or double quotes. It does not interpret
// backslashes: no key or type that is known here has an escape.
func (p *npyParser) quoted() string {
	q := p.next()
	if q != '\'' && q != '"' {
		p.fail("quoted string expected at byte %d", p.pos)
		return ""
	}
	start := p.pos + 1
	for i := start; i < len(p.text); i++ {
		if p.text[i] == q {
			p.pos = i + 1
			return string(p.text[start:i])
		}
	}
	p.fail("string at byte %d has no end", p.pos)
	return ""
}

// word consumes letters and digits.
func (p *npyParser) word() string {
	p.next()
	start := p.pos
	for p.pos < len(p.text) {
		c := p.text[p.pos]
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			break
		}
		p.pos++
	}
	return string(p.text[start:p.pos])
}

// dict consumes the dictionary, and checks that nothing but blanks follows it.
func (p *npyParser) dict() *npyHeader {
	header := new(npyHeader)
	seen := map[string]bool{}
	p.expect('{')
	for p.reason == "" && !p.take('}') {
		key := p.quoted()
		p.expect(':')
		if seen[key] {
			p.fail("key %q stands twice", key)
		}
		if p.reason != "" {
			break
		}
		seen[key] = true
		switch key {
		case "descr":
			header.dtype = p.descr()
		case "fortran_order":
			switch word := p.word(); word {
			case "True", "False":
				header.fortran = word == "True"
			default:
				p.fail("'fortran_order' is %q, neither True nor False", word)
			}
		case "shape":
			header.m, header.n = p.shape()
		default:
			p.fail("unknown key %q", key)
		}
		if !p.take(',') && p.next() != '}' {
			p.fail("',' or '}' expected at byte %d", p.pos)
		}
	}
	if p.reason == "" && len(seen) < 3 {
		p.fail("one of the keys 'descr', 'fortran_order', 'shape' is missing")
	}
	if p.next(); p.pos < len(p.text) {
		p.fail("text behind the dictionary, at byte %d", p.pos)
	}
	return header
}

// descr consumes the type of the elements.
func (p *npyParser) descr() npyType {
	if p.next() == '[' {
		p.fail("structured types cannot be read into a matrix")
		return npyType{}
	}
	s := p.quoted()
	order, name := byte('='), s
	if s != "" && strings.IndexByte("<>=|", s[0]) >= 0 {
		order, name = s[0], s[1:]
	}
	const known = "f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1"
	switch {
	case strings.HasPrefix(name, "c"):
		p.fail("type %q: complex elements are not supported", s)
		return npyType{}
	case name == "O":
		p.fail("type %q: objects of Python, which are pickled, are not read", s)
		return npyType{}
	case !slices.Contains(strings.Fields(known), name):
		p.fail("type %q is not supported; known: %s", s, known)
		return npyType{}
	}
	t := npyType{kind: name[0], size: int(name[1] - '0')}
	switch {
	case order == '>':
		t.big = true
	case order == '|' && t.size > 1:
		p.fail("type %q does not say its byte order", s)
	case order == '=':
		t.big = !littleEndian()
	}
	return t
}

// shape consumes the tuple of dimensions.
func (p *npyParser) shape() (m, n int64) {
	var dims []int64
	p.expect('(')
	for p.reason == "" && !p.take(')') {
		if p.take('-') {
			p.fail("dimension -%s is negative", p.word())
			return 0, 0
		}
		w := p.word()
		if l := len(w); l > 1 && w[l-1] == 'L' { // Python 2 wrote long integers with an L
			w = w[:l-1]
		}
		d, err := strconv.ParseUint(w, 10, 63)
		if err != nil {
			p.fail("dimension %q is no number that can be used", w)
			return 0, 0
		}
		if dims = append(dims, int64(d)); len(dims) > 2 {
			p.fail("array with more than 2 dimensions")
			return 0, 0
		}
		if !p.take(',') && p.next() != ')' {
			p.fail("',' or ')' expected at byte %d", p.pos)
		}
	}
	switch len(dims) {
	case 1:
		return dims[0], 1
	case 2:
		return dims[0], dims[1]
	}
	p.fail("array with 0 dimensions")
	return 0, 0
}

// littleEndian reports whether this machine stores numbers in little-endian order.
func littleEndian() bool {
	return binary.NativeEndian.Uint16([]byte{1, 0}) == 1
}
