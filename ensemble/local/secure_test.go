package local

import (
	"crypto/tls"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/internal/secrets"
	"github.com/zkbench/zkbench/ensemble/versions"
)

// Only the owner may read an ensemble's secrets, and they are in no other file and in no argument of a process.
func TestSecretsAreTheOwnersAlone(t *testing.T) {
	ports := []serverPorts{{Client: 1, Quorum: 2, Election: 3, Admin: 4}}
	for _, way := range ensemble.SecureWays() {
		base := t.TempDir()
		cfg := Config{Servers: 1, Secure: way}.withDefaults()
		if err := cfg.validate(); err != nil {
			t.Fatal(err)
		}
		if err := cfg.writeFiles(base, ports); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(base, secrets.Dir, "password"))
		if err != nil {
			t.Fatal(err)
		}
		password := strings.TrimSpace(string(text))
		err = filepath.WalkDir(base, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			inside := strings.Contains(path, string(filepath.Separator)+secrets.Dir)
			if inside && info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s: %s has mode %v", way, path, info.Mode())
			}
			if d.IsDir() || inside {
				return nil
			}
			text, err := os.ReadFile(path)
			if strings.Contains(string(text), password) {
				t.Errorf("%s: %s has the password", way, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if args := strings.Join(cfg.javaArgs(versions.Program{}, base, "zoo.cfg"), " "); strings.Contains(args, password) {
			t.Errorf("%s: the arguments have the password: %s", way, args)
		}
		if lines := cfg.zooCfg(1, base, "data", ports); strings.Contains(lines, "\nclientPort") || !strings.Contains(lines, "secureClientPort=1\n") {
			t.Errorf("%s: there is a plain port, or no encrypted one:\n%s", way, lines)
		}
		l := &Local{cfg: cfg, dir: base}
		for _, path := range []string{l.Credentials().CA, l.Credentials().Cert, l.Credentials().Key, l.Credentials().Auth} {
			if _, err := os.Stat(path); path != "" && err != nil {
				t.Error(err)
			}
		}
		if _, err := tls.LoadX509KeyPair(filepath.Join(base, secrets.Dir, "client.pem"), filepath.Join(base, secrets.Dir, "client.key")); err != nil {
			t.Error(err)
		}
	}
	if err := (Config{Secure: "kerberos"}).withDefaults().validate(); err == nil || !strings.Contains(err.Error(), "tls, tls-resumed, mtls, sasl, digest") {
		t.Errorf("an unknown way: %v", err)
	}
}
