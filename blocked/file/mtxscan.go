package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"unsafe"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/internal/scalar"
)

// mtxBuffer is the size of the scanner's buffer, and therefore the length of
// the longest line that it reads. Comments may be longer.
const mtxBuffer = 256 << 10

var (
	errLineTooLong = errors.New("line longer than 256 KiB")
	errNoNumber    = errors.New("not a number")
	errNoInteger   = errors.New("not an integer")
	errNegative    = errors.New("negative")
	errOverflow    = errors.New("out of range")
)

// mtxScanner cuts a text into lines.
type mtxScanner struct {
	r        io.Reader
	buf      []byte
	pos, end int   // buf[pos:end] has been read and not yet returned
	err      error // of r
	line     int   // number of the line returned last

	warn func(Warning) // may be nil
	told []string      // the reasons of earlier warnings
}

// deviates warns of a deviation from the format in the line returned last, unless it has warned of the
// same deviation before.
func (s *mtxScanner) deviates(reason string) {
	if s.warn == nil || slices.Contains(s.told, reason) {
		return
	}
	s.told = append(s.told, reason)
	s.warn(Warning{Line: s.line, Reason: reason})
}

// errorf returns a *FormatError for the line returned last.
func (s *mtxScanner) errorf(format string, args ...any) error {
	return &FormatError{Line: s.line, Reason: fmt.Sprintf(format, args...)}
}

func newMtxScanner(r io.Reader) *mtxScanner {
	return &mtxScanner{r: r, buf: make([]byte, mtxBuffer)}
}

// next returns the next line without its end. The line is valid until the next
// call. The error is io.EOF, errLineTooLong, or that of the reader.
func (s *mtxScanner) next() ([]byte, error) {
	for from := s.pos; ; {
		if i := bytes.IndexByte(s.buf[from:s.end], '\n'); i >= 0 {
			line := s.buf[s.pos : from+i]
			s.pos = from + i + 1
			s.line++
			return line, nil
		}
		if s.err != nil {
			if s.err != io.EOF || s.pos == s.end {
				return nil, s.err
			}
			line := s.buf[s.pos:s.end]
			s.pos = s.end
			s.line++
			return line, nil
		}
		if s.pos > 0 {
			s.end = copy(s.buf, s.buf[s.pos:s.end])
			s.pos = 0
		}
		if s.end == len(s.buf) {
			if s.buf[0] != '%' {
				s.line++
				return nil, errLineTooLong
			}
			s.end = 1 // keep the % of a long comment, and drop the rest
		}
		from = s.end
		s.fill()
	}
}

// fill reads once into the free end of the buffer.
func (s *mtxScanner) fill() {
	for range 100 {
		n, err := s.r.Read(s.buf[s.end:])
		s.end += n
		if s.err = err; n > 0 || err != nil {
			return
		}
	}
	s.err = io.ErrNoProgress
}

// content returns the next line that is neither blank nor a comment.
func (s *mtxScanner) content() ([]byte, error) {
	for {
		line, err := s.next()
		if err != nil {
			return nil, err
		}
		if p := skipBlanks(line, 0); p < len(line) && line[p] != '%' {
			return line, nil
		}
	}
}

// isBlank reports whether c separates fields. A carriage return does, so lines
// may end in CRLF.
func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f' }

func skipBlanks(b []byte, p int) int {
	for p < len(b) && isBlank(b[p]) {
		p++
	}
	return p
}

// field returns the first field of b at or after position p, and the position
// after that field. The field is empty at the end of b.
func field(b []byte, p int) ([]byte, int) {
	p = skipBlanks(b, p)
	start := p
	for p < len(b) && !isBlank(b[p]) {
		p++
	}
	return b[start:p], p
}

// parseCount returns the value of an index or a size: a decimal integer from 0 to 2⁶³−1.
func parseCount(b []byte) (int64, error) {
	v, neg, err := parseWhole(b)
	switch {
	case err == errNoInteger:
		return 0, err
	case neg:
		return 0, errNegative
	case err == nil && v > math.MaxInt64:
		err = errOverflow
	}
	return int64(v), err
}

// parseInteger returns a decimal integer, rounded to the nearest T, and whether rounding changed it. The
// integer must fit int64 or uint64; if signed is false, it must fit uint64.
func parseInteger[T blocked.Element](b []byte, signed bool) (x T, rounded bool, err error) {
	v, neg, err := parseWhole(b)
	switch {
	case err != nil:
		return 0, false, err
	case neg && v > 0 && !signed:
		return 0, false, errNegative
	case neg && v > 1<<63:
		return 0, false, errOverflow
	}
	x = T(v)
	rounded = !holds(x, v)
	if neg {
		x = -x // -0 if x is 0
	}
	return x, rounded, nil
}

// holds reports whether x is v exactly. x is v rounded to T.
func holds[T blocked.Element](x T, v uint64) bool {
	return x < 1<<64 && uint64(x) == v
}

// parseWhole returns the magnitude of a decimal integer and whether it has a minus sign.
func parseWhole(b []byte) (v uint64, neg bool, err error) {
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		b, neg = b[1:], b[0] == '-'
	}
	if len(b) == 0 {
		return 0, false, errNoInteger
	}
	for _, c := range b {
		d := uint64(c) - '0'
		if d > 9 {
			return 0, false, errNoInteger
		}
		if v > (math.MaxUint64-d)/10 {
			err = errOverflow // unless a later byte is no digit
		}
		v = v*10 + d
	}
	return v, neg, err
}

// parseReal returns the value of a decimal number, rounded to nearest. The
// number is digits with an optional sign, point and exponent, or inf, infinity
// or nan in any case and with an optional sign. These are the words that C's
// strtod reads and printf writes; printf on Windows has written nan(ind). A
// number too small for T becomes 0. A number too large for T is an error.
func parseReal[T blocked.Element](b []byte) (T, error) {
	p, neg := 0, false
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		p, neg = 1, b[0] == '-'
	}
	// Check the digits here: strconv would also accept hexadecimal numbers. Short
	// integers do not need strconv.
	start := p
	var v int64
	for p < len(b) && b[p]-'0' <= 9 {
		if p-start < 18 {
			v = v*10 + int64(b[p]-'0')
		}
		p++
	}
	digits := p - start
	exact := scalar.Pick[T](7, 15) // T holds every integer of so many digits
	if p == len(b) && 0 < digits && digits <= exact {
		if neg {
			return -T(v), nil
		}
		return T(v), nil
	}
	if p < len(b) && b[p] == '.' {
		p++
		for p < len(b) && b[p]-'0' <= 9 {
			p++
			digits++
		}
	}
	if digits == 0 {
		return parseNonFinite[T](b[start:], neg)
	}
	if p < len(b) && b[p]|0x20 == 'e' {
		p++
		if p < len(b) && (b[p] == '-' || b[p] == '+') {
			p++
		}
		if p == len(b) {
			return 0, errNoNumber
		}
		for p < len(b) && b[p]-'0' <= 9 {
			p++
		}
	}
	if p < len(b) {
		return 0, errNoNumber
	}
	// strconv does not keep the string, so it may lie in the scanner's buffer.
	f, err := strconv.ParseFloat(unsafe.String(unsafe.SliceData(b), len(b)), 8*scalar.Size[T]())
	if err != nil {
		return 0, errOverflow
	}
	return T(f), nil
}

// parseNonFinite returns the infinity or NaN that b names, negative if neg is set. b has no sign. nan may
// have letters, digits and underscores in parentheses.
func parseNonFinite[T blocked.Element](b []byte, neg bool) (T, error) {
	if len(b) > 4 && bytes.EqualFold(b[:4], []byte("nan(")) && b[len(b)-1] == ')' && len(bytes.Trim(b[4:len(b)-1], "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")) == 0 {
		b = b[:3]
	}
	var v float64
	switch {
	case bytes.EqualFold(b, []byte("inf")), bytes.EqualFold(b, []byte("infinity")):
		v = math.Inf(1)
	case bytes.EqualFold(b, []byte("nan")):
		v = math.NaN()
	default:
		return 0, errNoNumber
	}
	if neg {
		v = -v
	}
	return T(v), nil
}
