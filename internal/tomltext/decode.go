package tomltext

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strconv"
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

// Decode decodes a text into the struct to which into points. A key that this has not is an error,
// too. The error is an *Error.
func Decode(text string, into any) error {
	meta, err := toml.Decode(text, into)
	if err != nil {
		return explain(text, reflect.TypeOf(into).Elem(), err)
	}
	unknown := meta.Undecoded()
	if len(unknown) == 0 {
		return nil
	}
	// Where a table is unknown, so are its keys. The table comes first.
	key := unknown[0]
	e := &Error{0, fmt.Sprintf("unknown key %s; known are %s", key, strings.Join(known(reflect.TypeOf(into), key[:len(key)-1]), ", "))}
	for _, x := range entries(text) {
		if x.key == key.String() {
			e.Line = x.line + 1
			break
		}
	}
	return e
}

// entry is a line at which a pair, or a table, begins.
type entry struct {
	line, at int // its number, from 0, and where in the text it begins
	key      string
}

var (
	header = regexp.MustCompile(`^\s*\[+\s*([\w."'-]+)\s*\]+\s*(#.*)?$`)
	pair   = regexp.MustCompile(`^\s*["']?([\w.-]+)["']?\s*=`)
)

// entries returns the lines of a text that look like entries: also some within texts and lists of
// several lines.
func entries(text string) (all []entry) {
	table, at, line := "", 0, 0
	for s := range strings.Lines(text) {
		if m := header.FindStringSubmatch(strings.TrimRight(s, "\r\n")); m != nil {
			table = m[1]
			all = append(all, entry{line, at, table})
		} else if m := pair.FindStringSubmatch(s); m != nil {
			all = append(all, entry{line, at, strings.TrimPrefix(table+"."+m[1], ".")})
		}
		at, line = at+len(s), line+1
	}
	return all
}

// explain returns what an error of the library means for a text that was to become a t.
//
// Of a key that is there several times, in a list of tables, the library names the last line. So the
// first entry is looked for without which all before it is right.
func explain(text string, t reflect.Type, err error) *Error {
	if _, bad := toml.Decode(text, new(map[string]any)); bad != nil {
		if p := (toml.ParseError{}); errors.As(bad, &p) {
			return &Error{p.Position.Line, p.Message}
		}
		return &Error{0, reason(t, bad)}
	}
	all := entries(text)
	wrong := func(n int) error { // what is wrong with the first n+1 entries
		part := text
		if n+1 < len(all) {
			part = text[:all[n+1].at]
		}
		if _, bad := toml.Decode(part, new(map[string]any)); bad != nil {
			return nil // it ends within a value
		}
		_, err := toml.Decode(part, reflect.New(t).Interface())
		return err
	}
	n := sort.Search(len(all), func(n int) bool { return wrong(n) != nil })
	if n < len(all) {
		return &Error{all[n].line + 1, reason(t, wrong(n))}
	}
	return &Error{0, reason(t, err)}
}

// mismatch is what the library says of a value of the wrong type.
var mismatch = regexp.MustCompile(`^toml: (?:line \d+ )?\(last key (".*")\): (?:incompatible types: TOML value has type (.*); destination has type (.*)|type mismatch for .*: expected (table) but found (.*))$`)

// reason returns what the library says in words of the file.
func reason(t reflect.Type, err error) string {
	if p := (toml.ParseError{}); errors.As(err, &p) {
		return p.LastKey + ": " + p.Message
	}
	m := mismatch.FindStringSubmatch(err.Error())
	if m == nil {
		return strings.TrimPrefix(err.Error(), "toml: ")
	}
	key, _ := strconv.Unquote(m[1])
	is, want := word(m[2]+m[5]), word(m[3]+m[4])
	of := find(t, strings.Split(key, "."))
	if of != nil && of.Kind() == reflect.Slice {
		one := indirect(of)
		tables := one.Kind() == reflect.Struct && !reflect.PointerTo(one).Implements(reflect.TypeFor[toml.Unmarshaler]())
		switch {
		case tables && want == "a list":
			want = fmt.Sprintf("tables, each begun by [[%s]]", key)
		case want != "a list":
			return fmt.Sprintf("%s has %s in its list, want %s", key, is, want)
		}
	}
	return fmt.Sprintf("%s is %s, want %s", key, is, want)
}

// word returns what a type of the library is called.
func word(of string) string {
	switch of {
	case "string", "primitive (string-like)":
		return "a text"
	case "int64", "integer":
		return "a whole number"
	case "float64":
		return "a number with a point or an exponent"
	case "float":
		return "a number"
	case "bool", "boolean":
		return "true or false"
	case "time.Time":
		return "a date"
	case "map", "map[string]any", "table":
		return "a table"
	case "slice", "[]any":
		return "a list"
	case "[]map[string]any":
		return "a list of tables"
	}
	return of
}

// indirect returns what a type points to, or has a list of, if it does.
func indirect(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t
}

// find returns the type of what a key of a t is, nil if there is none.
func find(t reflect.Type, key []string) reflect.Type {
	for _, k := range key {
		var of reflect.Type
		fields(t, func(name string, x reflect.Type) {
			if strings.EqualFold(name, k) {
				of = x
			}
		})
		if of == nil {
			return nil
		}
		t = of
	}
	return t
}

// known returns the keys that a table of a t has.
func known(t reflect.Type, table []string) (names []string) {
	for n := len(table); n >= 0; n-- { // of the innermost table that there is
		if of := find(t, table[:n]); of != nil {
			fields(of, func(name string, _ reflect.Type) { names = append(names, name) })
			break
		}
	}
	return slices.Compact(names)
}

// fields calls f for each key of a struct, with its type.
func fields(t reflect.Type, f func(name string, t reflect.Type)) {
	if t = indirect(t); t.Kind() != reflect.Struct {
		return
	}
	for i := range t.NumField() {
		x := t.Field(i)
		name, _, _ := strings.Cut(x.Tag.Get("toml"), ",")
		switch {
		case x.Anonymous && name == "":
			fields(x.Type, f)
		case x.IsExported() && name != "-":
			if name == "" {
				name = strings.ToLower(x.Name)
			}
			f(name, x.Type)
		}
	}
}
