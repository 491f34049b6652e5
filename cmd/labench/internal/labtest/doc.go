// Package labtest is test support that several packages of labench share.
package labtest
