package reliable

import "time"

// Options configures a node. Its zero value has the defaults.
type Options struct {
	// Timeout is how long nothing may be heard of a node before it has left; 0 means
	// 5 s. Nodes that have nothing to say let each other hear four times in that time.
	Timeout time.Duration
	// Linger is how long Close waits for what was sent to be acknowledged; 0 means a
	// fifth of Timeout, less than 0 not at all.
	Linger time.Duration
	// Window is how many bytes may be on their way to a node, or wait for its handler,
	// before Send waits; 0 means 4 MiB. One message may always go.
	Window int
}

// OptionsError says what is wrong with an Options.
type OptionsError struct{ Problem string }

func (e *OptionsError) Error() string { return "reliable: " + e.Problem }

// check sets defaults. The error is an *OptionsError.
func (o *Options) check() error {
	if o.Timeout < 0 || o.Window < 0 {
		return &OptionsError{"Timeout and Window must not be negative"}
	}
	if o.Timeout == 0 {
		o.Timeout = 5 * time.Second
	}
	if o.Linger == 0 {
		o.Linger = o.Timeout / 5
	}
	if o.Window == 0 {
		o.Window = 4 << 20
	}
	return nil
}
