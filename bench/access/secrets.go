package access

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/zkbench/zkbench/profiles"
)

// maxSecret is the maximum size of a secret's file, in bytes: a longer file is a mistake.
const maxSecret = 64 << 10

// readSecret reads what a reference names, without the trailing line break.
func readSecret(what string, s profiles.Secret) (string, error) {
	if s.Env != "" {
		text := os.Getenv(s.Env)
		if text == "" {
			return "", fmt.Errorf("auth: %s: the environment variable %s is not set; export it", what, s.Env)
		}
		return text, nil
	}
	text, err := readFile("auth: "+what, s.File)
	if err == nil && text == "" {
		err = fmt.Errorf("auth: %s: %s is empty", what, s.File)
	}
	return text, err
}

func readFile(what, path string) (string, error) {
	info, err := os.Stat(path)
	if err == nil && info.Size() > maxSecret {
		err = fmt.Errorf("%s has more than %d KiB", path, maxSecret>>10)
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}

// readCredential reads one entry of auth, which may refer to a file with several credentials.
func readCredential(c profiles.Credential) ([]credential, error) {
	if c.File != "" {
		return readCredentials(c.File)
	}
	if c.Whole == (profiles.Secret{}) {
		password, err := readSecret("password", c.Password)
		return []credential{{c.Scheme, c.User, keep(password)}}, err
	}
	whole, err := readSecret("credential", c.Whole)
	if err != nil {
		return nil, err
	}
	user, password, ok := strings.Cut(whole, ":")
	if !ok || user == "" || password == "" {
		return nil, fmt.Errorf("auth: credential: the content of %s is not USER:PASSWORD", c.Whole.File+c.Whole.Env)
	}
	return []credential{{c.Scheme, user, keep(password)}}, nil
}

// readCredentials reads a file of lines SCHEME USER:PASSWORD. It ignores empty lines and those that begin with #.
func readCredentials(path string) (all []credential, err error) {
	text, err := readFile("auth", path)
	if err != nil {
		return nil, err
	}
	number := 0
	for line := range strings.Lines(text) {
		number++
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		scheme, rest, _ := strings.Cut(line, " ")
		user, password, ok := strings.Cut(strings.TrimSpace(rest), ":")
		if !ok || user == "" || password == "" || scheme != profiles.SASL && scheme != profiles.Digest {
			return nil, fmt.Errorf("auth: %s:%d: expected SCHEME USER:PASSWORD with a SCHEME of %s or %s", path, number, profiles.SASL, profiles.Digest)
		}
		all = append(all, credential{scheme, user, keep(password)})
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("auth: %s has no line SCHEME USER:PASSWORD", path)
	}
	return all, nil
}

// readTLS reads the certificates and keys.
func (a *Access) readTLS() error {
	t := a.set.TLS
	switch t.CA {
	case "":
		return nil
	case profiles.SystemCA:
		pool, err := x509.SystemCertPool()
		if err != nil {
			return fmt.Errorf("tls: ca: %w", err)
		}
		a.roots = pool
	default:
		text, err := os.ReadFile(t.CA)
		if err != nil {
			return fmt.Errorf("tls: ca: %w", err)
		}
		a.roots = x509.NewCertPool()
		if !a.roots.AppendCertsFromPEM(text) {
			return fmt.Errorf("tls: ca: %s has no certificate in PEM (a Java key store is converted by keytool -exportcert -rfc)", t.CA)
		}
	}
	if t.Cert == "" {
		return nil
	}
	files := [][2]string{{t.Cert, t.Key}}
	if info, err := os.Stat(t.Cert); err == nil && info.IsDir() {
		if t.Key != "" {
			return errors.New("tls: key: a directory as cert has the keys, as NAME.key beside NAME.pem")
		}
		found, _ := filepath.Glob(filepath.Join(t.Cert, "*.pem"))
		files = nil
		for _, cert := range found {
			files = append(files, [2]string{cert, strings.TrimSuffix(cert, ".pem") + ".key"})
		}
		if len(files) == 0 {
			return fmt.Errorf("tls: cert: the directory %s has no NAME.pem with a NAME.key", t.Cert)
		}
	}
	for _, f := range files {
		remedy := ""
		if f[1] == "" {
			f[1] = f[0] // both in one file
			remedy = "; if the key is in a file of its own, give it with --tls-key (tls: key)"
		}
		pair, err := tls.LoadX509KeyPair(f[0], f[1])
		if err != nil {
			return fmt.Errorf("tls: cert %s with key %s: %w%s", f[0], f[1], err, remedy)
		}
		name, err := subject(pair.Leaf.RawSubject)
		if err != nil {
			return fmt.Errorf("tls: cert %s: %w", f[0], err)
		}
		a.certs, a.names = append(a.certs, pair), append(a.names, name)
	}
	return nil
}
