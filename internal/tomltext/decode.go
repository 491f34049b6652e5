package tomltext

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// Error says what is wrong with a text.
type Error struct {
	Line   int // 0 if that is not known
	Reason string
}

func (e *Error) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("line %d: %s", e.Line, e.Reason)
	}
	return e.Reason
}

// Decode decodes a text into the struct to which into points. A key that this has not is an error, too. The error is
// an *Error, about the first line that is wrong.
func Decode(text string, into any) error {
	// The library knows the line of a wrong value only if its key is not in several tables of a list. So the values are
	// compared with the struct here.
	var tree map[string]any
	if _, err := toml.Decode(text, &tree); err != nil {
		return syntax(err)
	}
	var c check
	c.table(place{}, tree, reflect.TypeOf(into).Elem())
	if c.wrong == nil {
		if _, err := toml.Decode(text, into); err != nil {
			return syntax(err)
		}
		return nil
	}
	lines := entries(text)
	for i := range c.wrong {
		c.wrong[i].line = lines.of(c.wrong[i].path)
	}
	first := slices.MinFunc(c.wrong, func(a, b problem) int {
		return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.path, b.path))
	})
	return &Error{first.line, first.reason}
}

// syntax returns an error of the library.
func syntax(err error) *Error {
	if p := (toml.ParseError{}); errors.As(err, &p) {
		return &Error{p.Position.Line, p.Message}
	}
	return &Error{0, strings.TrimPrefix(err.Error(), "toml: ")}
}
