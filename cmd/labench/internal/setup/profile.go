package setup

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/versions"
)

// Profile is the measured speed of the versions, and the file that stores it.
type Profile struct {
	*versions.Profile
	Path string // empty: not stored
}

// ProfilePath returns the default file of the profile, in the user's cache directory.
func ProfilePath() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "tessera", "profile.json"), nil
}

// ProfileFor returns the file of a node's own profile: profile.json becomes profile.agent0.json.
func ProfileFor(node, file string) string {
	ext := filepath.Ext(file)
	return strings.TrimSuffix(file, ext) + "." + strings.ReplaceAll(node, "/", "-") + ext
}

// OpenProfile reads the profile that --profile names: a file, "none", or if empty the default file. A file that
// is no profile is renamed, with a warning.
func OpenProfile(a *cli.App, name string) (*Profile, error) { return OpenProfileOf(a, "", name) }

// OpenProfileOf is OpenProfile for a node of a cluster, which has a default file of its own.
func OpenProfileOf(a *cli.App, node, name string) (*Profile, error) {
	switch name {
	case "none":
		return &Profile{Profile: new(versions.Profile)}, nil
	case "":
		var err error
		if name, err = ProfilePath(); err == nil {
			if node != "" {
				name = ProfileFor(node, name)
			}
			err = os.MkdirAll(filepath.Dir(name), 0o755)
		}
		if err != nil {
			a.Warn(fmt.Sprintf("what is learned of the versions is not kept: %v; --profile names another file", err))
			return &Profile{Profile: new(versions.Profile)}, nil
		}
	}
	var errs cli.Problems
	if errs.Target("profile", name) { // the profile could not be saved
		return nil, cli.Usage(cli.JoinLine(errs))
	}
	p, warning, err := versions.Load(name)
	if err != nil {
		return nil, fmt.Errorf("the profile cannot be read: %w; --profile none does without", err)
	}
	if warning != nil {
		a.Warn(warning.String())
	}
	return &Profile{p, name}, nil
}

// keepEvery calls Keep again and again, so that little is lost if this process is killed, until the function that it
// returns is called.
func (p *Profile) keepEvery(a *cli.App, pause time.Duration) (stop func()) {
	if p.Path == "" {
		return func() {}
	}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		t := time.NewTicker(pause)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				p.Keep(a)
			case <-end:
				return
			}
		}
	}()
	return func() { close(end); <-ended }
}

// Keep writes the profile to its file. It reports whether that succeeded. A failure is only a warning.
func (p *Profile) Keep(a *cli.App) (kept bool) {
	if p.Path == "" {
		return false
	}
	warning, err := p.Save(p.Path)
	if warning != nil {
		a.Warn(warning.String())
	}
	if err != nil {
		a.Warn(fmt.Sprintf("what was learned of the versions is not kept: %v", err))
	}
	return err == nil
}
