package local

import (
	"fmt"
	"path/filepath"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/internal/secrets"
)

// Credentials returns the files that clients of a secured ensemble need.
func (l *Local) Credentials() ensemble.Credentials {
	return secrets.Credentials(filepath.Join(l.dir, secrets.Dir), l.cfg.Secure)
}

// secureLines returns the lines of zoo.cfg that secure a server. Its client port is encrypted, and there is no other one.
func (c Config) secureLines(base string, own serverPorts) map[string]string {
	lines := secrets.Lines(filepath.Join(base, secrets.Dir), c.Secure)
	lines["secureClientPort"], lines["secureClientPortAddress"] = fmt.Sprint(own.Client), "127.0.0.1"
	return lines
}

var _ ensemble.Secured = (*Local)(nil)
