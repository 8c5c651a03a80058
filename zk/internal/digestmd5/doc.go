// Package digestmd5 answers the challenges of the SASL mechanism DIGEST-MD5 (RFC 2831), as far as ZooKeeper's servers use it: authentication only,
// with md5-sess. The mechanism is obsolete (RFC 6331); it is here because servers with a JAAS file require it. Input from a server is not trusted,
// and no error contains a password.
package digestmd5
