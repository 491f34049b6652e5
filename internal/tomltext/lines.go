package tomltext

import (
	"fmt"
	"regexp"
	"strings"
)

// lines are the places of a text that begin a line: pairs and headers of tables, in order.
type lines []struct {
	path string
	line int
}

// of returns the line of a place: its own, or that of the first place in it, or of the last one that it is in.
func (l lines) of(path string) int {
	for ; path != ""; path = path[:max(strings.LastIndexAny(path, ".["), 0)] {
		for _, x := range l {
			if rest, in := strings.CutPrefix(x.path, path); in && (rest == "" || rest[0] == '.' || rest[0] == '[') {
				return x.line
			}
		}
	}
	return 0
}

var (
	header = regexp.MustCompile(`^\s*(\[+)\s*([\w."'-]+)\s*\]+\s*(#.*)?$`)
	pair   = regexp.MustCompile(`^\s*["']?([\w.-]+)["']?\s*=`)
)

// entries returns the lines of a text that look like pairs and headers: also some within texts and lists of several
// lines.
func entries(text string) (all lines) {
	table, line := "", 0
	elements := map[string]int{} // number of tables so far of each list
	for s := range strings.Lines(text) {
		line++
		path := ""
		if m := header.FindStringSubmatch(strings.TrimRight(s, "\r\n")); m != nil {
			words := strings.Split(m[2], ".")
			table = ""
			for i, w := range words {
				table = strings.TrimPrefix(table+"."+strings.Trim(w, `"'`), ".")
				if i == len(words)-1 && m[1] == "[[" {
					elements[table]++
				}
				if n := elements[table]; n > 0 {
					table = fmt.Sprintf("%s[%d]", table, n-1)
				}
			}
			path = table
		} else if m := pair.FindStringSubmatch(s); m != nil {
			path = strings.TrimPrefix(table+"."+m[1], ".")
		} else {
			continue
		}
		all = append(all, struct {
			path string
			line int
		}{path, line})
	}
	return all
}
