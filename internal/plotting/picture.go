package plotting

import (
	"fmt"

	"github.com/tessera-la/tessera/internal/cli"
)

// Picture notes why the file of --plot, if it names one, cannot be drawn, as far as that can be
// seen before.
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
