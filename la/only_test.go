package la_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/versions"
)

// TestOnlyCUDA: without a device nobody can run what only devices may.
func TestOnlyCUDA(t *testing.T) {
	for name, opt := range map[string]la.Options{
		"only":  {Only: []string{"cuda"}},
		"fixed": {Fixed: []versions.Pin{{Op: "potrf", Version: "cuda"}}},
	} {
		e, err := la.NewEngine(opt)
		var none *versions.NoVersionError
		if !errors.As(err, &none) || !strings.Contains(err.Error(), "cuda: needs a cuda worker, this one is cpu") {
			t.Errorf("%s: error %v", name, err)
		}
		if err == nil {
			e.Close()
		}
	}
}
