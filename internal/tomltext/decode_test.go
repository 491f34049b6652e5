package tomltext

import (
	"errors"
	"testing"
)

type part struct {
	Name   string    `toml:"name"`
	Count  int       `toml:"count,omitempty"`
	Rates  []float64 `toml:"rates"`
	Hidden int       `toml:"-"`
}

type base struct{ Size uint8 }

type whole struct {
	base
	Part  []part `toml:"part"`
	Net   struct{ Speed float64 }
	Apart bool
}

// TestDecode: what is wrong is said with the line where it stands, also if the key is there again.
func TestDecode(t *testing.T) {
	const parts = "[[part]]\nname = \"a\"\ncount = 1\n[[part]] # b\ncount = 2\n"
	for _, c := range []struct{ text, want string }{
		{parts + "[net]\nspeed = 1\n", ""},
		{"[[part]]\ncount = \"x\"\n" + parts, "line 2: part.count is a text, want a whole number"},
		{parts + "name = [\n1,\n2]\r\n" + parts, "line 6: part.name is a list, want a text"},
		{"[[part]]\nrates = [\n  [1],\n]\n" + parts, "line 2: part.rates has a list in its list, want a number"},
		{parts + "rates = 3", "line 6: part.rates is a whole number, want a list"},
		{"[part]\ncount = 1", "line 1: part is a table, want tables, each begun by [[part]]"},
		{"net = 3", "line 1: net is a whole number, want a table"},
		{"[net]\nspeed.x = 3", "line 2: net.speed is a table, want a number"},
		{"size = 2024-01-01", "line 1: size is a date, want a whole number"},
		{"size = 1e2", "line 1: size is a number with a point or an exponent, want a whole number"},
		{"size = 256", "line 1: size: 256 is out of range for uint8"},
		{"apart = \"yes\"\n" + parts, "line 1: apart is a text, want true or false"},
		{parts + "sound = 3\n" + parts, "line 6: unknown key part.sound; known are name, count, rates"},
		{parts + "[other]\nx = 1", "line 6: unknown key other; known are size, part, net, apart"},
		{"part = [{count = 1}, {count = \"x\"}]", "line 1: part.count is a text, want a whole number"},
		{"net = {\n speed = \"x\" }", "line 1: net.speed is a text, want a number"},
		{parts + "[part.more]\nx = 1", "line 6: unknown key part.more; known are name, count, rates"},
		{parts + "count = -1\n[net]\nfast = 1", "line 6: Key 'part.count' has already been defined."},
		{"[net]\nfast = 1\n" + parts + "name = 2", "line 2: unknown key net.fast; known are speed"},
		{"size = \n", "line 1: expected value but found '\\n' instead"},
		{parts + "count = 3", "line 6: Key 'part.count' has already been defined."},
	} {
		var x whole
		err := Decode(c.text, &x)
		if e := (*Error)(nil); c.want == "" && err != nil || c.want != "" && (!errors.As(err, &e) || e.Error() != c.want) {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
	}
}

// FuzzDecode: no text makes Decode panic.
func FuzzDecode(f *testing.F) {
	f.Add("[[part]]\ncount = \"x\"\n[net]\nspeed = [[1]]")
	f.Fuzz(func(t *testing.T, text string) { _ = Decode(text, new(whole)) })
}
