package secrets

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/ensemble"
)

// Dir is the name of the directory for the secrets of an ensemble and its clients: only its owner may read it. It is removed with the
// ensemble.
const Dir = "secrets"

// The files in it, and who may authenticate: benchUser, and benchUser-0 to benchUser-999 with the same password, for sessions with their own
// identity.
const (
	caFile, serverFile, jaasFile      = "ca.pem", "server.pem", "jaas.conf"
	clientFile, clientKey, clientsDir = "client.pem", "client.key", "clients"
	authFile, passwordFile            = "auth", "password"
	benchUser                         = "bench"
	ownUsers, ownCertificates         = 1000, 4
	validFor                          = 10 * 365 * 24 * time.Hour
)

// OfServers returns the files that servers read; the others are for clients.
func OfServers() []string { return []string{caFile, serverFile, jaasFile} }

// Credentials returns the files in a directory that clients of an ensemble secured in this way need.
func Credentials(dir, way string) ensemble.Credentials {
	at := func(name string) string { return filepath.Join(dir, name) }
	switch way {
	case ensemble.SecureTLS:
		return ensemble.Credentials{CA: at(caFile)}
	case ensemble.SecureResumed:
		return ensemble.Credentials{CA: at(caFile), Resume: true}
	case ensemble.SecureMTLS:
		return ensemble.Credentials{CA: at(caFile), Cert: at(clientFile), Key: at(clientKey)}
	case ensemble.SecureSASL, ensemble.SecureDigest:
		return ensemble.Credentials{CA: at(caFile), Auth: at(authFile)}
	}
	return ensemble.Credentials{}
}

// Dialer opens connections to servers with these credentials; nil if the connections are plain.
func Dialer(c ensemble.Credentials) (ensemble.Dialer, error) {
	if c.CA == "" {
		return nil, nil
	}
	text, err := os.ReadFile(c.CA)
	if err != nil {
		return nil, err
	}
	cfg := &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "localhost", MinVersion: tls.VersionTLS12, ClientSessionCache: tls.NewLRUClientSessionCache(8)}
	cfg.RootCAs.AppendCertsFromPEM(text)
	if c.Cert != "" {
		pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
		if err != nil {
			return nil, err
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	return (&tls.Dialer{Config: cfg}).DialContext, nil
}

// Lines returns the lines of zoo.cfg that secure a server, except its port; dir is the directory's path as the server sees it.
func Lines(dir, way string) map[string]string {
	at := func(name string) string { return filepath.Join(dir, name) }
	lines := map[string]string{
		"serverCnxnFactory":       "org.apache.zookeeper.server.NettyServerCnxnFactory",
		"ssl.keyStore.location":   at(serverFile),
		"ssl.keyStore.type":       "PEM",
		"ssl.trustStore.location": at(caFile),
		"ssl.trustStore.type":     "PEM",
		"ssl.clientAuth":          "none",
	}
	switch way {
	case ensemble.SecureMTLS:
		lines["ssl.clientAuth"] = "need"
		lines["authProvider.x509"] = "org.apache.zookeeper.server.auth.X509AuthenticationProvider"
	case ensemble.SecureSASL:
		lines["authProvider.sasl"] = "org.apache.zookeeper.server.auth.SASLAuthenticationProvider"
		lines["sessionRequireClientSASLAuth"] = "true"
	case ensemble.SecureDigest:
		lines["enforce.auth.enabled"] = "true"
		lines["enforce.auth.schemes"] = "digest"
	}
	return lines
}

// JavaArgs returns the Java arguments of a server; dir is the directory's path as the server sees it.
func JavaArgs(dir, way string) []string {
	if way != ensemble.SecureSASL {
		return nil
	}
	return []string{"-Djava.security.auth.login.config=" + filepath.Join(dir, jaasFile)}
}

// Write creates the directory for an ensemble secured in this way.
func Write(dir, way string) error {
	if err := os.RemoveAll(dir); err != nil { // left by a start with other ports
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, clientsDir), 0o700); err != nil {
		return err
	}
	ca, err := newAuthority()
	if err != nil {
		return err
	}
	server, err := ca.issue("localhost")
	if err != nil {
		return err
	}
	client, err := ca.issue(benchUser)
	if err != nil {
		return err
	}
	password := rand.Text()
	var users strings.Builder
	for i := range ownUsers {
		fmt.Fprintf(&users, "\n  user_%s-%d=%q", benchUser, i, password)
	}
	files := map[string]string{
		caFile:       ca.cert,
		serverFile:   server.key + server.cert,
		clientFile:   client.cert,
		clientKey:    client.key,
		passwordFile: password + "\n",
		jaasFile: fmt.Sprintf("Server {\n  org.apache.zookeeper.server.auth.DigestLoginModule required\n  user_%s=%q%s;\n};\n",
			benchUser, password, users.String()),
	}
	scheme := "digest"
	if way == ensemble.SecureSASL {
		scheme = "sasl"
	}
	files[authFile] = fmt.Sprintf("%s %s:%s\n", scheme, benchUser, password)
	for i := range ownCertificates {
		own, err := ca.issue(fmt.Sprintf("%s-%d", benchUser, i))
		if err != nil {
			return err
		}
		name := filepath.Join(clientsDir, fmt.Sprintf("%s-%d", benchUser, i))
		files[name+".pem"], files[name+".key"] = own.cert, own.key
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// authority signs certificates.
type authority struct {
	signed
	parsed  *x509.Certificate
	private *ecdsa.PrivateKey
}

// signed is a certificate and its key, in PEM.
type signed struct{ cert, key string }

func newAuthority() (*authority, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	t := template("zkbench's authority")
	t.IsCA, t.BasicConstraintsValid, t.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, t, t, private.Public(), private)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParseCertificate(der)
	return &authority{signed: signed{cert: text("CERTIFICATE", der)}, parsed: parsed, private: private}, err
}

// issue issues a certificate for a server on this machine or a client of that name.
func (a *authority) issue(name string) (signed, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return signed{}, err
	}
	t := template(name)
	t.DNSNames, t.IPAddresses = []string{"localhost"}, []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	t.KeyUsage = x509.KeyUsageDigitalSignature
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	der, err := x509.CreateCertificate(rand.Reader, t, a.parsed, private.Public(), a.private)
	if err != nil {
		return signed{}, err
	}
	key, err := x509.MarshalPKCS8PrivateKey(private) // the format that ZooKeeper's PEM reader understands
	return signed{text("CERTIFICATE", der), text("PRIVATE KEY", key)}, err
}

func template(name string) *x509.Certificate {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		panic(err) // crypto/rand does not fail
	}
	now := time.Now()
	return &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: name, Organization: []string{"zkbench"}},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(validFor)}
}

func text(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// Check returns an error for an unknown way; "" is valid and means none.
func Check(way string) error {
	if way != "" && !slices.Contains(ensemble.SecureWays(), way) {
		return fmt.Errorf("secure %q: %s", way, strings.Join(ensemble.SecureWays(), ", "))
	}
	return nil
}
