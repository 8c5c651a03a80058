package command

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/local"
	"github.com/zkbench/zkbench/internal/tier"
)

// Servers that require a client certificate and a digest credential: the commands load them, and say what is missing.
func TestCertificatesAndDigests(t *testing.T) {
	tier.Long(t, "ensembles of several kinds; TestCertificatesOfAnyName runs on a secured one")
	t.Parallel()
	e := ensembletest.Start(t, 1, func(cfg *local.Config) {
		cfg.Secure = ensemble.SecureMTLS
		cfg.Extra = map[string]string{"enforce.auth.enabled": "true", "enforce.auth.schemes": "digest"}
	})
	files, address := e.Credentials(), e.Addresses()[0]
	dir := t.TempDir()
	auth, sasl := filepath.Join(dir, "auth"), filepath.Join(dir, "sasl")
	for path, text := range map[string]string{auth: "digest ada:sesame\n", sasl: "sasl ada:sesame\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	plain := []string{"--servers", address, "--tls-ca", files.CA}
	certified := slices.Concat(plain, []string{"--tls-cert", filepath.Join(filepath.Dir(files.CA), "clients")})
	known := slices.Concat(certified, []string{"--auth-file", auth})
	small := []string{"-q", "--set", "variants=predecessor", "--set", "sessions=3", "--set", "warmup=0s", "--set", "duration=300ms", "--set", "repetitions=1"}
	for _, c := range []struct {
		args []string
		says string
	}{
		{nil, "x509 (4 certificates in turn)"},
		{[]string{"--acl", "creator"}, "ACL of the znodes: creator"},
		{[]string{"--engine", "go-zookeeper"}, "sessions authenticate as digest:ada and x509"},
		{[]string{"--share", "1/1", "--meet", "zk://" + address + "/meeting", "--allow-shared"}, "sessions authenticate as digest:ada and x509"},
	} {
		dir := out(t)
		o := zkbench(t, slices.Concat([]string{"run", "quickstart", "--out", dir}, small, known, c.args)...)
		if o.code != exitOK && o.code != exitUnknown { // on a slow machine a short load is no evidence
			t.Fatalf("%v: exit code %d\n%s", c.args, o.code, o.stderr)
		}
		if notes := strings.Join(result(t, dir).Notes, "\n"); !strings.Contains(notes, c.says) {
			t.Errorf("%v: the notes are %q, want %q", c.args, notes, c.says)
		}
	}
	zkbench(t, slices.Concat([]string{"clean", "--yes"}, known)...).want(exitOK, "no zkbench data under /zkbench")
	zkbench(t, slices.Concat([]string{"limits", "--for", "1s"}, known)...).want(exitOK)
	zkbench(t, "limits", "--for", "1s", "--servers", address).want(exitFailed, "it speaks TLS; give --tls-ca")
	for _, c := range []struct {
		args []string
		says string
	}{
		{plain, "it wants a client certificate; give --tls-cert"},
		{certified, "requires authentication (error -124"},
		{slices.Concat(certified, []string{"--engine", "go-zookeeper"}), "requires authentication (error -124"},
		{slices.Concat(certified, []string{"--auth-file", sasl}), "--auth-file"},
	} {
		zkbench(t, slices.Concat([]string{"run", "quickstart", "--out", out(t)}, small, c.args)...).want(exitFailed, c.says)
	}
}

// Sessions that use several certificates in turn share their znodes, however the parts of the certificates' names are ordered and encoded: the ACL names each as
// the servers do.
func TestCertificatesOfAnyName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := func(number asn1.ObjectIdentifier, value any) pkix.RelativeDistinguishedNameSET {
		return pkix.RelativeDistinguishedNameSET{{Type: number, Value: value}}
	}
	issue := func(name string, signer *x509.Certificate, by *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
		private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		mail := asn1.RawValue{Tag: asn1.TagIA5String, Bytes: []byte(name + "@zk.example")}
		raw, err := asn1.Marshal(pkix.RDNSequence{text(asn1.ObjectIdentifier{2, 5, 4, 6}, "DE"), text(asn1.ObjectIdentifier{2, 5, 4, 8}, "Hessen"),
			text(asn1.ObjectIdentifier{2, 5, 4, 7}, "Fulda"), text(asn1.ObjectIdentifier{2, 5, 4, 10}, "Müller, Söhne"), text(asn1.ObjectIdentifier{2, 5, 4, 3}, name),
			text(asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 1}, mail)})
		if err != nil {
			t.Fatal(err)
		}
		own := &x509.Certificate{SerialNumber: big.NewInt(1), RawSubject: raw, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
			IsCA: signer == nil, BasicConstraintsValid: true}
		if signer == nil {
			signer, by = own, private
		}
		der, err := x509.CreateCertificate(rand.Reader, own, signer, private.Public(), by)
		if err != nil {
			t.Fatal(err)
		}
		secret, err := x509.MarshalPKCS8PrivateKey(private)
		if err != nil {
			t.Fatal(err)
		}
		for kind, one := range map[string]*pem.Block{".pem": {Type: "CERTIFICATE", Bytes: der}, ".key": {Type: "PRIVATE KEY", Bytes: secret}} {
			if err := os.WriteFile(filepath.Join(dir, name+kind), pem.EncodeToMemory(one), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		parsed, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		return parsed, private
	}
	ca, private := issue("ca", nil, nil)
	trusted := filepath.Join(t.TempDir(), "ca.pem")
	if err := errors.Join(os.Rename(filepath.Join(dir, "ca.pem"), trusted), os.Remove(filepath.Join(dir, "ca.key"))); err != nil {
		t.Fatal(err)
	}
	issue("one", ca, private)
	issue("two", ca, private)
	e := ensembletest.Start(t, 1, func(cfg *local.Config) {
		cfg.Secure = ensemble.SecureTLS
		cfg.Extra = map[string]string{"ssl.clientAuth": "want", "ssl.trustStore.location": trusted,
			"authProvider.x509": "org.apache.zookeeper.server.auth.X509AuthenticationProvider"}
	})
	for _, acl := range []string{"shared", "creator"} {
		o := zkbench(t, "run", "quickstart", "-q", "--servers", e.Addresses()[0], "--tls-ca", e.Credentials().CA, "--tls-cert", dir, "--acl", acl, "--out", out(t),
			"--set", "variants=naive", "--set", "sessions=3", "--set", "warmup=0s", "--set", "duration=300ms", "--set", "repetitions=1")
		if o.code != exitOK && o.code != exitUnknown { // on a slow machine a short load is no evidence
			t.Errorf("acl %s: exit code %d\n%s", acl, o.code, o.stderr)
		}
	}
	zkbench(t, "clean", "--yes", "--servers", e.Addresses()[0], "--tls-ca", e.Credentials().CA, "--tls-cert", dir).want(exitOK, "no zkbench data under /zkbench")
}

// Servers that only speak TLS 1.3 are loaded, and what they refuse is reported although the client's handshake ends before they check its certificate. The cipher
// suites must be named: ZooKeeper 3.8.0 has those of TLS 1.2 by default, and then ends every handshake.
func TestServersThatSpeakTLS13Alone(t *testing.T) {
	tier.Long(t, "an ensemble of its own kind; TestCertificatesOfAnyName runs on a secured one")
	t.Parallel()
	e := ensembletest.Start(t, 1, func(cfg *local.Config) {
		cfg.Secure = ensemble.SecureMTLS
		cfg.Extra = map[string]string{"ssl.enabledProtocols": "TLSv1.3", "ssl.ciphersuites": "TLS_AES_128_GCM_SHA256"}
	})
	files := e.Credentials()
	plain := []string{"run", "quickstart", "-q", "--set", "variants=predecessor", "--set", "sessions=2", "--set", "warmup=0s", "--set", "duration=300ms",
		"--servers", e.Addresses()[0], "--tls-ca", files.CA}
	known := slices.Concat(plain, []string{"--tls-cert", files.Cert, "--tls-key", files.Key})
	for _, engine := range []string{"native", "go-zookeeper"} {
		dir := out(t)
		o := zkbench(t, slices.Concat(known, []string{"--engine", engine, "--out", dir})...)
		if o.code != exitOK && o.code != exitUnknown { // on a slow machine a short load is no evidence
			t.Fatalf("%s: exit code %d\n%s", engine, o.code, o.stderr)
		}
		if notes := strings.Join(result(t, dir).Notes, "\n"); !strings.Contains(notes, "TLS 1.3 with TLS_AES_128_GCM_SHA256") {
			t.Errorf("%s: the notes are %q, want TLS 1.3", engine, notes)
		}
	}
	zkbench(t, append(plain, "--out", out(t))...).want(exitFailed, "it wants a client certificate; give --tls-cert")
}

// An expired certificate ends each command before any load, with the remedy.
func TestAnExpiredCertificateEndsEveryVerb(t *testing.T) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	own := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(-time.Hour),
		IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, own, own, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	ca := file(t, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	l, err := tls.Listen("tcp", "localhost:0", &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: private}}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				io.Copy(io.Discard, c)
				c.Close()
			}()
		}
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	for _, args := range [][]string{{"run", "quickstart", "--out", out(t)}, {"ab", "--a", "quickstart", "--b", "quickstart", "--out", out(t)},
		{"capacity", "locks-open", "--goal", "p99<50ms", "--out", out(t)}, {"calibrate"}, {"clean"}, {"limits", "--for", "1s"}} {
		zkbench(t, append(args, "--servers", "localhost:"+port, "--tls-ca", ca)...).want(exitFailed, "the server's certificate has expired at", "renew it on the server")
	}
}

func TestSecuringWhatCannotBe(t *testing.T) {
	t.Parallel()
	zkbench(t, "up", "--secure", "kerberos").want(exitUsage, "expected tls, tls-resumed, mtls, sasl, digest")
	zkbench(t, "run", "quickstart", "--servers", "localhost:1", "--set", "secure=tls").want(exitUsage, "secure is for ensembles that zkbench starts")
	zkbench(t, "run", "quickstart", "--servers", "localhost:1", "--set", "secure=[none,tls]").want(exitUsage, "remove --servers")
	zkbench(t, "run", "quickstart", "--set", "secure=tls", "--set", "faults=[{at: 1s, kind: cut-reply}]").want(exitUsage, "which TLS hides")
	zkbench(t, "clean", "--servers", "localhost:1", "--tls-cert", "x").want(exitUsage, "need --tls-ca")
	for _, verb := range []string{"clean", "limits"} { // they create no znodes for others to use
		zkbench(t, verb, "--servers", "localhost:1", "--acl", "creator").want(exitUsage, "unknown flag: --acl")
	}
	zkbench(t, "run", "quickstart", "--servers", "localhost:1", "--tls-key", "x").want(exitUsage, "required field ca is missing")
	zkbench(t, "run", "published", "--servers", "localhost:1", "--tls-ca", "system").want(exitUsage, "does not support auth")
	zkbench(t, "ab", "--a", "quickstart", "--b", "quickstart", "--auth-file", "/missing").want(exitUsage, "/missing: no such file")
}
