package file

import (
	"bytes"
	"errors"

	"github.com/tessera-la/tessera/blocked"
)

// trailing returns the error for a line after the last entry.
func (s *mtxScanner) trailing(line []byte) error {
	text, _ := field(line, 0)
	return s.errorf("text behind the last entry that the size line announces: %s", quoteField(text))
}

// readMtxValue returns the value in a line of an array file, and an error if the line has more than that.
func readMtxValue[T blocked.Element](s *mtxScanner, h *mtxHeader, line []byte) (T, error) {
	text, p := field(line, 0)
	v, err := parseValue[T](s, h.field, text)
	if err != nil {
		return 0, s.errorf("value %s: %v", quoteField(text), err)
	}
	if rest := s.rest(line, p); len(rest) > 0 {
		return 0, s.errorf("more than one value: %s", quoteField(rest))
	}
	return v, nil
}

// parseValue returns the value of text in a file with field f. It warns if it rounds an integer, or if the
// exponent is Fortran's.
func parseValue[T blocked.Element](s *mtxScanner, f mtxField, text []byte) (T, error) {
	if len(text) == 0 {
		return 0, errors.New("missing")
	}
	if f == mtxInteger || f == mtxUnsigned {
		v, rounded, err := parseInteger[T](text, f == mtxInteger)
		if rounded {
			s.deviates(roundedReason[T]())
		}
		return v, err
	}
	v, err := parseReal[T](text)
	if err != errNoNumber {
		return v, err
	}
	if k := bytes.IndexAny(text, "dD"); k >= 0 {
		text = bytes.Clone(text) // an error quotes the line as it is
		text[k] = 'e'
		if v, err = parseReal[T](text); err == nil {
			s.deviates("an exponent is Fortran's, with D for E")
		}
	}
	return v, err
}

// rest returns the field after position p of the line. It returns nil for a comment, and warns of it:
// SciPy and other readers accept comments there.
func (s *mtxScanner) rest(line []byte, p int) []byte {
	text, _ := field(line, p)
	if len(text) > 0 && text[0] == '%' {
		s.deviates("a comment stands behind an entry, in the same line")
		return nil
	}
	return text
}
