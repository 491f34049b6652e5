// Package metg is labench metg. It measures how short tasks may be before overhead takes half of the time.
package metg
