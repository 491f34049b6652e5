// Package dropin provides the command labench dropin, which measures how much faster la/dropin makes a program that
// uses gonum.
package dropin
