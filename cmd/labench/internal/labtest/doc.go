// Package labtest is what the tests of several packages of labench share.
package labtest
