package file

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/tessera-la/tessera/blocked"
)

// behind returns the error for a line that follows the last entry.
func (s *mtxScanner) behind(line []byte) error {
	f, _ := field(line, 0)
	return &FormatError{Line: s.line, Reason: "text behind the last entry that the size line announces: " + quoteField(f)}
}

// readMtxValue returns the value in a line of an array file.
func readMtxValue[T blocked.Element](s *mtxScanner, h *mtxHeader, line []byte) (T, error) {
	val, p := field(line, 0)
	v, err := parseValue[T](s, h.field, val)
	if err != nil {
		return 0, &FormatError{Line: s.line, Reason: fmt.Sprintf("value %s: %v", quoteField(val), err)}
	}
	if rest := s.rest(line, p); len(rest) > 0 {
		return 0, &FormatError{Line: s.line, Reason: "more than one value: " + quoteField(rest)}
	}
	return v, nil
}

// parseValue returns the value of text b in a file with field f. It warns if it rounds an integer, or if the
// exponent is Fortran's.
func parseValue[T blocked.Element](s *mtxScanner, f mtxField, b []byte) (T, error) {
	if len(b) == 0 {
		return 0, errors.New("missing")
	}
	if f == mtxInteger || f == mtxUnsigned {
		v, rounded, err := parseInteger[T](b, f == mtxInteger)
		if rounded {
			s.deviates(roundedReason[T]())
		}
		return v, err
	}
	v, err := parseReal[T](b)
	if err != errNoNumber {
		return v, err
	}
	k := bytes.IndexAny(b, "dD")
	if k < 0 {
		return v, err
	}
	c := bytes.Clone(b)
	c[k] = 'e'
	if v, err = parseReal[T](c); err == nil {
		s.deviates("an exponent is Fortran's, with D for E")
	}
	return v, err
}

// rest returns the field after position p of the line. It returns nil for a comment, and warns of it:
// SciPy and other readers accept comments there.
func (s *mtxScanner) rest(line []byte, p int) []byte {
	f, _ := field(line, p)
	if len(f) > 0 && f[0] == '%' {
		s.deviates("a comment stands behind an entry, in the same line")
		return nil
	}
	return f
}
