package report

import (
	"fmt"
	"strings"
)

// Labelled is text whose paragraphs begin with labels.
type Labelled struct{ strings.Builder }

// Line adds a paragraph with its label.
func (t *Labelled) Line(label, format string, args ...any) {
	t.WriteString(Wrapped(Label(label), fmt.Sprintf(format, args...)))
}
