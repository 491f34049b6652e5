package la

import (
	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/la/engine"
)

// An Engine holds workers and what is known about the versions of operations; Options configure one. Package engine
// describes both, and what an engineer does with them.
type (
	Engine  = engine.Engine
	Options = engine.Options
)

// NewEngine returns an engine with running workers; the caller must Close it.
//
// The error is an *OptionsError that lists what is wrong with the options; a
// *versions.ConfigError or *versions.UnknownNameError; or a *versions.NoVersionError if an
// operation has no version left that can run here.
func NewEngine(opt Options) (*Engine, error) { return engine.New(opt) }

// copying returns the options of a conversion on e's workers.
func copying(e *Engine) blocked.CopyOptions {
	return blocked.CopyOptions{Workers: e.Options().Workers}
}

// measuring is copying with the statistics of what is copied.
func measuring(e *Engine) blocked.CopyOptions {
	return blocked.CopyOptions{Workers: e.Options().Workers, Stats: true}
}
