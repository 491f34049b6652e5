package plotting

import (
	"fmt"

	"github.com/tessera-la/tessera/internal/cli"
)

// Picture returns the format of the file that --plot names, if any. It notes in p if the file cannot be drawn,
// as far as that can be told beforehand.
func Picture(p *cli.Problems, path string) (format Format) {
	if path == "" {
		return 0
	}
	format, err := FormatOf(path)
	if err != nil {
		p.Note(fmt.Errorf("--plot %w", err))
	}
	p.Target("plot", path)
	return format
}
