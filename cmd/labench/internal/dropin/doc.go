// Package dropin is labench dropin. It measures how much faster la/dropin makes a program that uses gonum.
package dropin
