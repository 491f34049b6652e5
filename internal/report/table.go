package report

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Table is the columns of a table, with a blank between them.
type Table []Column

// Column is a column of a [Table]. A positive Width is that of numbers, which are aligned to the right. A negative one
// is that of words, which are aligned to the left and cut.
type Column struct {
	Name  string
	Width int
}

// NewTable returns a table, from the name and the width of each column in turn.
func NewTable(columns ...any) (t Table) {
	for i := 0; i < len(columns); i += 2 {
		t = append(t, Column{columns[i].(string), columns[i+1].(int)})
	}
	return t
}

// Head returns the line of the names.
func (t Table) Head() string {
	return t.line(func(i int) string { return t[i].Name })
}

// Row returns the line of the cells, one for each column. They may have colour.
func (t Table) Row(cells ...any) string {
	return t.line(func(i int) string { return fmt.Sprint(cells[i]) })
}

// Width returns the width of a line.
func (t Table) Width() int {
	n := max(len(t)-1, 0)
	for _, c := range t {
		n += max(c.Width, -c.Width)
	}
	return n
}

func (t Table) line(cell func(i int) string) string {
	cells := make([]string, len(t))
	for i, c := range t {
		if cells[i] = cell(i); c.Width < 0 {
			cells[i] = Pad(Clip(cells[i], -c.Width), -c.Width)
		} else {
			shown := colours.ReplaceAllString(cells[i], "")
			cells[i] = strings.Repeat(" ", max(0, c.Width-utf8.RuneCountInString(shown))) + cells[i]
		}
	}
	return strings.TrimRight(strings.Join(cells, " "), " ") + "\n"
}

// colours are what [Paint] adds.
var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")
