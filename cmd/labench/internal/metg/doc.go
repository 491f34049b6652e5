// Package metg is labench metg: how short tasks may be before their overhead takes half of the time.
package metg
