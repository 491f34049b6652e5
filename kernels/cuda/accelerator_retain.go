package cuda

import "github.com/tessera-la/tessera/versions"

// Retain lets the device's copies of values stay there when the jobs that use them end, until
// [Accelerator.Discard]. Flush copies them to the host as it does others, so they are valid on both
// sides, and are evicted when other values need their room. Values that are retained twice must be
// discarded twice. Values that are not [versions.Stored] stay on the host.
//
// Until Discard the host writes such a value only after Fetch, as while a job uses it.
func (a *Accelerator) Retain(values []any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, v := range values {
		if s, ok := v.(versions.Stored); ok {
			a.cache.entry(s).retained++
		}
	}
}

// Discard undoes Retain, and drops copies that no job uses.
func (a *Accelerator) Discard(values []any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, v := range values {
		e := a.find(v)
		if e == nil || e.retained == 0 {
			continue
		}
		// A job that still uses e, and so may have written it, decides at its end.
		if e.retained--; e.retained == 0 && len(e.jobs) == 0 {
			a.forget(e)
		}
	}
}
