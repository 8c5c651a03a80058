// Package access determines how the sessions of a run authenticate and connect: it reads the secrets and certificates that a profile refers to, dials
// with TLS, and explains why a server refuses. Secrets stay here and in the engine's sessions: no error, log line or result shows one.
package access
