package tomltext

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
)

// place is a value in a text: in words, and with the numbers of tables in lists, as "node.speed" and "node[1].speed".
type place struct {
	name, path string
	listed     bool // it is an element of a list
}

func (p place) key(name string) place {
	return place{strings.TrimPrefix(p.name+"."+name, "."), strings.TrimPrefix(p.path+"."+name, "."), false}
}

func (p place) element(i int) place { return place{p.name, fmt.Sprintf("%s[%d]", p.path, i), true} }

// problem is what is wrong at a place.
type problem struct {
	path, reason string
	line         int
}

// check collects what is wrong with values for the types that they are to become.
type check struct{ wrong []problem }

func (c *check) note(at place, format string, args ...any) {
	c.wrong = append(c.wrong, problem{path: at.path, reason: at.name + fmt.Sprintf(format, args...)})
}

// want notes that a value should be something else.
func (c *check) want(at place, v any, what string) {
	if at.listed {
		c.note(at, " has %s in its list, want %s", word(v), what)
	} else {
		c.note(at, " is %s, want %s", word(v), what)
	}
}

// table checks a table that is to become a struct.
func (c *check) table(at place, table map[string]any, t reflect.Type) {
	for name, v := range table {
		var of reflect.Type
		var known []string
		fields(t, func(key string, x reflect.Type) {
			if known = append(known, key); strings.EqualFold(key, name) {
				of = x
			}
		})
		if of != nil {
			c.value(at.key(name), v, of)
			continue
		}
		key := at.key(name)
		c.wrong = append(c.wrong, problem{path: key.path, reason: fmt.Sprintf("unknown key %s; known are %s", key.name, strings.Join(slices.Compact(known), ", "))})
	}
}

// value checks a value that is to become a t: a struct, a slice, a text, a number or true or false.
func (c *check) value(at place, v any, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	list := reflect.ValueOf(v)
	table, isTable := v.(map[string]any)
	var err error
	switch x := reflect.New(t).Interface().(type) {
	case toml.Unmarshaler:
		if err = x.UnmarshalTOML(v); err != nil {
			c.note(at, ": %v", err)
		}
		return
	case encoding.TextUnmarshaler:
		if isTable || list.Kind() == reflect.Slice {
			c.want(at, v, "a text")
		} else if err = x.UnmarshalText(fmt.Append(nil, v)); err != nil {
			c.note(at, ": %v", err)
		}
		return
	case *time.Duration:
		if text, ok := v.(string); ok {
			if _, err = time.ParseDuration(text); err != nil {
				c.note(at, ": invalid duration: %q", text)
			}
			return
		}
	}
	n, whole := v.(int64)
	_, number := v.(float64)
	zero, want := reflect.Zero(t), wanted(t, at.name)
	switch {
	case t.Kind() == reflect.Struct && isTable:
		c.table(at, table, t)
	case t.Kind() == reflect.Slice && list.Kind() == reflect.Slice:
		for i := range list.Len() {
			c.value(at.element(i), list.Index(i).Interface(), t.Elem())
		}
	case want != word(v) && !(zero.CanFloat() && (whole || number)):
		c.want(at, v, want)
	case zero.CanInt() && zero.OverflowInt(n), zero.CanUint() && zero.OverflowUint(uint64(n)):
		c.note(at, ": %d is out of range for %s", n, t.Kind())
	}
}

// wanted returns what a value of a t, in the place called name, has to be.
func wanted(t reflect.Type, name string) string {
	switch zero := reflect.Zero(t); {
	case t.Kind() == reflect.String:
		return "a text"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case zero.CanFloat():
		return "a number"
	case zero.CanInt(), zero.CanUint():
		return "a whole number"
	case t.Kind() == reflect.Struct:
		return "a table"
	case t.Elem().Kind() == reflect.Struct && !reflect.PointerTo(t.Elem()).Implements(reflect.TypeFor[toml.Unmarshaler]()):
		return fmt.Sprintf("tables, each begun by [[%s]]", name)
	}
	return "a list"
}

// word returns what a value is called.
func word(v any) string {
	switch v.(type) {
	case string:
		return "a text"
	case int64:
		return "a whole number"
	case float64:
		return "a number with a point or an exponent"
	case bool:
		return "true or false"
	case map[string]any:
		return "a table"
	case []map[string]any:
		return "a list of tables"
	case []any:
		return "a list"
	}
	return "a date"
}

// fields calls f for each key of a struct, with its type.
func fields(t reflect.Type, f func(name string, t reflect.Type)) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
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
