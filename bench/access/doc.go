// Package access is who the sessions of a run are and how their connections are made: it reads the secrets and certificates that a profile refers
// to, dials with TLS, and says in words why a server refuses. Secrets stay in it and in the engine's session: no error, log line or result shows one.
package access
