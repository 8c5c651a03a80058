// Package digestmd5 answers the challenges of SASL's mechanism DIGEST-MD5 (RFC 2831), as far as ZooKeeper's servers speak it: authentication
// alone, with md5-sess. The mechanism is obsolete (RFC 6331); it is here because servers with a JAAS file ask for it. What comes from a
// server is not trusted, and no error shows a password.
package digestmd5
