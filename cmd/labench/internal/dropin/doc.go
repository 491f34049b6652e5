// Package dropin is labench dropin: what a program of gonum gains by la/dropin.
package dropin
