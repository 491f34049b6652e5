// Package certs makes and reads the certificates of a cluster: those of its authority, and one for
// each node, for package web.
//
//	DIR/ca.crt, DIR/ca.key                       the authority
//	DIR/NODE/node.crt, node.key, ca.crt          what a node needs
//
// Keys are ECDSA keys on P-256. The authority signs certificates of nodes and nothing else; its
// owner can admit anybody to the cluster by ca.key, which no node needs.
//
// Reference: RFC 5280 (X.509).
package certs
