// Package certs makes and reads the certificates of a cluster: those of its authority, and
// one for each node, which package web wants.
//
//	DIR/ca.crt, DIR/ca.key                       the authority
//	DIR/NODE/node.crt, node.key, ca.crt          what a node needs
//
// Keys are ECDSA keys on P-256. The authority signs certificates of nodes and nothing else;
// who has ca.key can let anybody into the cluster, and no node needs it.
//
// Reference: RFC 5280 (X.509).
package certs
