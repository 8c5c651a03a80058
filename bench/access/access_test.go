package access

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha1"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/zk"
)

const password = "correct-horse-battery"

// write creates a file for a test.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReferencesAreRead(t *testing.T) {
	t.Setenv("ZKBENCH_TEST_WHOLE", "ada:"+password)
	a, err := Load(Settings{Auth: []profiles.Credential{
		{Scheme: profiles.SASL, User: "bench-{session}", Password: profiles.Secret{File: write(t, "secret", password+"\n")}},
		{Scheme: profiles.Digest, Whole: profiles.Secret{Env: "ZKBENCH_TEST_WHOLE"}},
		{File: write(t, "auth", "# comment\n\ndigest bob:"+password+":with:colons\n")},
	}}, 10)
	if err != nil {
		t.Fatal(err)
	}
	i := a.Session(3)
	if i.User != "bench-3" || i.Password != password || len(i.Digests) != 2 || string(i.Digests[0]) != "ada:"+password ||
		string(i.Digests[1]) != "bob:"+password+":with:colons" {
		t.Errorf("session 3 is %q %q %q", i.User, i.Password, i.Digests)
	}
	if user := a.Session(11).User; user != "bench-0" {
		t.Errorf("what is beyond the sessions of the run is %q", user)
	}
	if text := fmt.Sprintf("%v %+v %#v %q %#v", a.creds, a.creds, a.creds, a, a); strings.Contains(text, password) {
		t.Errorf("a format shows a secret: %s", text)
	}
}

func TestABadReferenceIsToldWithoutTheSecret(t *testing.T) {
	os.Unsetenv("ZKBENCH_TEST_UNSET")
	secret := write(t, "secret", password)
	_, certificate, _ := issued(t, "client", time.Now().Add(time.Hour))
	for _, c := range []struct {
		why  string
		set  Settings
		says string
	}{
		{"an environment variable that is not set", Settings{Auth: []profiles.Credential{{Scheme: "sasl", User: "u", Password: profiles.Secret{Env: "ZKBENCH_TEST_UNSET"}}}},
			"ZKBENCH_TEST_UNSET is not set"},
		{"a file that is missing", Settings{Auth: []profiles.Credential{{Scheme: "sasl", User: "u", Password: profiles.Secret{File: "/missing"}}}}, "/missing: no such file"},
		{"a file that is empty", Settings{Auth: []profiles.Credential{{Scheme: "sasl", User: "u", Password: profiles.Secret{File: write(t, "e", "\n")}}}}, "is empty"},
		{"a credential without a user", Settings{Auth: []profiles.Credential{{Scheme: "digest", Whole: profiles.Secret{File: secret}}}}, "is not USER:PASSWORD"},
		{"a line that is none", Settings{Auth: []profiles.Credential{{File: write(t, "auth", "sasl u:p\n"+password)}}}, "auth:2: expected SCHEME USER:PASSWORD"},
		{"a scheme that is none", Settings{Auth: []profiles.Credential{{File: write(t, "auth", "kerberos u:"+password)}}}, "auth:1: expected"},
		{"two SASL identities", Settings{Auth: []profiles.Credential{{File: write(t, "auth", "sasl u:p\nsasl v:p")}}}, "at most one SASL"},
		{"a CA that is none", Settings{TLS: profiles.TLS{CA: secret}}, "no certificate in PEM"},
		{"a CA that is missing", Settings{TLS: profiles.TLS{CA: "/missing"}}, "/missing"},
		{"a certificate that is none", Settings{TLS: profiles.TLS{CA: profiles.SystemCA, Cert: secret}}, "tls: cert"},
		{"a certificate without its key", Settings{TLS: profiles.TLS{CA: profiles.SystemCA, Cert: certificate}}, "--tls-key"},
		{"a directory without certificates", Settings{TLS: profiles.TLS{CA: profiles.SystemCA, Cert: t.TempDir()}}, "has no NAME.pem"},
		{"an ACL without an identity", Settings{ACL: profiles.ACLCreator}, "needs sessions with an identity"},
	} {
		_, err := Load(c.set, 1)
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), password) {
			t.Errorf("%s: error is %v, want %q", c.why, err, c.says)
		}
	}
	if a, err := Load(Settings{ACL: profiles.ACLWorld}, 1); a != nil || err != nil {
		t.Errorf("nothing asked for gives %v, %v", a, err)
	}
}

func TestWhoOwnsWhatIsMade(t *testing.T) {
	own := profiles.Credential{Scheme: "sasl", User: "u-{session}", Password: profiles.Secret{File: write(t, "p", password)}}
	same := profiles.Credential{File: write(t, "auth", "digest all:secret")}
	sum := sha1.Sum([]byte("all:secret"))
	auth, all := zk.Identity{Scheme: "auth"}, zk.Identity{Scheme: "digest", ID: "all:" + base64.StdEncoding.EncodeToString(sum[:])}
	id := func(n int) zk.Identity { return zk.Identity{Scheme: "sasl", ID: fmt.Sprint("u-", n)} }
	for _, c := range []struct {
		why          string
		acl          string
		auth         []profiles.Credential
		admin, first []zk.Identity
	}{
		{"by default whoever has the identity", "", []profiles.Credential{same}, []zk.Identity{auth}, []zk.Identity{auth}},
		{"the world", profiles.ACLWorld, []profiles.Credential{same}, nil, nil},
		{"one identity for all is everybody's own", profiles.ACLCreator, []profiles.Credential{same}, []zk.Identity{auth}, []zk.Identity{auth}},
		{"shared by those that there are", profiles.ACLShared, []profiles.Credential{own}, []zk.Identity{id(0), id(1), id(2)}, []zk.Identity{id(0), id(1), id(2)}},
		{"shared by what is common", profiles.ACLShared, []profiles.Credential{own, same}, []zk.Identity{all}, []zk.Identity{all}},
		{"directories for all, the rest for its creator and who cleans up", profiles.ACLCreator, []profiles.Credential{own}, []zk.Identity{id(0), id(1), id(2)},
			[]zk.Identity{auth, id(0)}},
	} {
		a, err := Load(Settings{ACL: c.acl, Auth: c.auth}, 2)
		if err != nil {
			t.Fatal(err)
		}
		if admin, first := a.Session(0).Owners, a.Session(1).Owners; !reflect.DeepEqual(admin, c.admin) || !reflect.DeepEqual(first, c.first) {
			t.Errorf("%s: %v and %v, want %v and %v", c.why, admin, first, c.admin, c.first)
		}
	}
	if _, err := Load(Settings{ACL: profiles.ACLShared, Auth: []profiles.Credential{own}}, 1000); err == nil || !strings.Contains(err.Error(), "add a digest credential") {
		t.Errorf("an ACL of a thousand entries: %v", err)
	}
}

// The expected names were written by X500Principal.getName() of OpenJDK 17, which servers compare with the IDs of ACLs.
func TestNamesOfCertificatesAreThoseOfTheServers(t *testing.T) {
	type set = pkix.RelativeDistinguishedNameSET
	of := func(value any, number ...int) set { return set{{Type: number, Value: value}} }
	mail := asn1.RawValue{Tag: asn1.TagIA5String, Bytes: []byte("one@zk.example")}
	for _, c := range []struct {
		why  string
		name pkix.RDNSequence
		want string
	}{
		{"in the order of the certificate, and an attribute without a keyword",
			pkix.RDNSequence{of("DE", 2, 5, 4, 6), of("Hessen", 2, 5, 4, 8), of("Fulda", 2, 5, 4, 7), of("Org", 2, 5, 4, 10), of("Unit", 2, 5, 4, 11), of("one", 2, 5, 4, 3),
				of(mail, 1, 2, 840, 113549, 1, 9, 1)},
			"1.2.840.113549.1.9.1=#160e6f6e65407a6b2e6578616d706c65,CN=one,OU=Unit,O=Org,L=Fulda,ST=Hessen,C=DE"},
		{"characters with a meaning", pkix.RDNSequence{of(`a,b=c+d<e>f;g"h\i#j`, 2, 5, 4, 10), of("#x", 2, 5, 4, 3)}, `CN=\#x,O=a\,b\=c\+d\<e\>f\;g\"h\\i\#j`},
		{"spaces at the ends", pkix.RDNSequence{of(" lead and trail ", 2, 5, 4, 10), of("  x  ", 2, 5, 4, 3)}, `CN=\ \ x\ \ ,O=\ lead and trail\ `},
		{"those of directories", pkix.RDNSequence{of("example", 0, 9, 2342, 19200300, 100, 1, 25), of("bob", 0, 9, 2342, 19200300, 100, 1, 1)}, "UID=bob,DC=example"},
		{"more than ASCII", pkix.RDNSequence{of("Müller € Söhne", 2, 5, 4, 10)}, "O=Müller € Söhne"},
		{"a part of two attributes", pkix.RDNSequence{of("Org", 2, 5, 4, 10), append(of("u", 2, 5, 4, 11), of("two", 2, 5, 4, 3)...)}, "OU=u+CN=two,O=Org"},
		{"a serial number", pkix.RDNSequence{of("12", 2, 5, 4, 5), of("Road 1", 2, 5, 4, 9)}, "STREET=Road 1,2.5.4.5=#13023132"},
	} {
		raw, err := asn1.Marshal(c.name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := subject(raw); got != c.want || err != nil {
			t.Errorf("%s: subject() = %s, %v, want %s", c.why, got, err, c.want)
		}
	}
}

// issued returns a self-signed certificate for a server or a client.
func issued(t *testing.T, host string, until time.Time) (cert tls.Certificate, file, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: host}, NotBefore: until.Add(-time.Hour), NotAfter: until,
		IsCA: true, BasicConstraintsValid: true, DNSNames: []string{host}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	file = write(t, "cert.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	key = write(t, "cert.key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
	if cert, err = tls.LoadX509KeyPair(file, key); err != nil {
		t.Fatal(err)
	}
	return cert, file, key
}

// listen answers connections with TLS according to cfg, or without TLS if cfg is nil, until the end of the test.
func listen(t *testing.T, cfg *tls.Config) string {
	t.Helper()
	return ensembletest.Listen(t, func(c net.Conn) {
		if cfg != nil {
			tls.Server(c, cfg).Handshake()
		}
	})
}

// Over TLS 1.3 the client finishes its handshake before the server has checked its certificate, so the refusal arrives later.
func TestARefusedHandshakeNamesTheRemedy(t *testing.T) {
	now := time.Now()
	good, ca, _ := issued(t, "zk.example", now.Add(time.Hour))
	expired, expiredCA, _ := issued(t, "zk.example", now.Add(-time.Minute))
	future, futureCA, _ := issued(t, "zk.example", now.Add(5*time.Hour))
	_, strangerCA, strangerKey := issued(t, "client", now.Add(time.Hour))
	_, formerCert, formerKey := issued(t, "former", now.Add(-time.Minute))
	name := "zk.example"
	for _, c := range []struct {
		why    string
		server tls.Certificate
		asks   tls.ClientAuthType
		set    profiles.TLS
		says   string
	}{
		{"an expired certificate", expired, 0, profiles.TLS{CA: expiredCA, ServerName: name}, "has expired at"},
		{"one that is not valid yet", future, 0, profiles.TLS{CA: futureCA, ServerName: name}, "is valid from"},
		{"one of another host", good, 0, profiles.TLS{CA: ca, ServerName: "other.example"}, "--tls-server-name"},
		{"one of another authority", good, 0, profiles.TLS{CA: strangerCA, ServerName: name}, "--tls-ca"},
		{"no certificate of the client", good, tls.RequireAndVerifyClientCert, profiles.TLS{CA: ca, ServerName: name}, "--tls-cert and --tls-key"},
		{"a certificate of a client that the server does not know", good, tls.RequireAndVerifyClientCert,
			profiles.TLS{CA: ca, ServerName: name, Cert: strangerCA, Key: strangerKey}, "refuses the client's certificate CN=client"},
		{"a client's that has expired", good, tls.RequireAndVerifyClientCert,
			profiles.TLS{CA: ca, ServerName: name, Cert: formerCert, Key: formerKey}, "have another one issued"},
		{"all is well", good, 0, profiles.TLS{CA: ca, ServerName: name}, ""},
	} {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			address := listen(t, &tls.Config{Certificates: []tls.Certificate{c.server}, ClientAuth: c.asks, ClientCAs: x509.NewCertPool(),
				MinVersion: version, MaxVersion: version})
			if err := refusalOf(t, c.set, address); (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s, %s: %v, want %q", c.why, tls.VersionName(version), err, c.says)
			}
			if !SpeaksTLS(t.Context(), address) {
				t.Errorf("%s, %s: SpeaksTLS is false", c.why, tls.VersionName(version))
			}
		}
	}
	here := profiles.TLS{CA: ca, ServerName: name}
	address := listen(t, nil)
	if err := refusalOf(t, here, address); err == nil || !strings.Contains(err.Error(), "does not speak TLS") || SpeaksTLS(t.Context(), address) {
		t.Errorf("a port without TLS: %v, want that it does not speak TLS", err)
	}
	rsaOnly := listen(t, &tls.Config{Certificates: []tls.Certificate{good}, MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_RSA_WITH_AES_128_GCM_SHA256}})
	if err := refusalOf(t, here, rsaOnly); err == nil || !strings.Contains(err.Error(), "its ssl.ciphersuites include none") {
		t.Errorf("no cipher suite in common: %v, want the remedy", err)
	}
	old := listen(t, &tls.Config{Certificates: []tls.Certificate{good}, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11})
	if err := refusalOf(t, here, old); err == nil || !strings.Contains(err.Error(), "ssl.enabledProtocols") {
		t.Errorf("TLS 1.1: %v, want the remedy", err)
	}
}

// refusalOf returns why a client cannot communicate with a server, or nil if it can; the first answer reports it at the latest.
func refusalOf(t *testing.T, set profiles.TLS, address string) error {
	t.Helper()
	a, err := Load(Settings{TLS: set}, 1)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := a.Dialer()(t.Context(), "tcp", address)
	if err == nil {
		defer conn.Close()
		if _, err = conn.Write([]byte("ruok")); err == nil {
			_, err = io.ReadAll(conn)
		}
		if !errors.Is(err, ensemble.ErrNoTLS) { // the server has nothing to say
			return nil
		}
	} else if !errors.Is(err, ensemble.ErrNoTLS) {
		t.Errorf("%v is not ErrNoTLS", err)
	}
	return err
}

// A refusal of the servers is reported with its code and one remedy, however often it is explained; other errors are not changed.
func TestRefusalsAreExplainedOnce(t *testing.T) {
	for code, remedy := range map[int32]string{-102: "have its owner grant", -112: "session_timeout", -114: "acl: world", -115: "correct the user or the password", -124: "--auth-file"} {
		err := fmt.Errorf("create the root /x: %w", zk.FromCode(code))
		got := Explain(Explain(err))
		if text := got.Error(); !errors.Is(got, zk.FromCode(code)) || strings.Count(text, fmt.Sprintf("(error %d)", code))+strings.Count(text, fmt.Sprintf("(error %d:", code)) != 1 ||
			strings.Count(text, remedy) != 1 || !strings.HasPrefix(text, err.Error()) {
			t.Errorf("code %d: %q, want %q once after the error", code, text, remedy)
		}
	}
	if err := zk.FromCode(-101); Explain(err) != err || Explain(nil) != nil {
		t.Error("an error that is no refusal was changed")
	}
}

// A client resumes a TLS session only if it asks for that, and only with the same server.
func TestResumption(t *testing.T) {
	cert, ca, _ := issued(t, "zk.example", time.Now().Add(time.Hour))
	address := listen(t, &tls.Config{Certificates: []tls.Certificate{cert}, MaxVersion: tls.VersionTLS12})
	for _, resume := range []bool{false, true} {
		a, err := Load(Settings{TLS: profiles.TLS{CA: ca, ServerName: "zk.example", Resume: resume}}, 1)
		if err != nil {
			t.Fatal(err)
		}
		var resumed []bool
		for number := range 2 {
			conn, err := a.Session(number).Dial(context.Background(), "tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			resumed = append(resumed, conn.(*tls.Conn).ConnectionState().DidResume)
			conn.Close()
		}
		if want := []bool{false, resume}; !reflect.DeepEqual(resumed, want) {
			t.Errorf("resume: %v: connections were resumed %v, want %v", resume, resumed, want)
		}
		again := 0
		if resume {
			again = 1
		}
		if all, n := a.Phases(); n != again || len(all) != 2 || all[0].Phase != "tcp" || all[1].Phase != "tls" || all[1].Count != 2 || all[1].Max < all[1].P50 {
			t.Errorf("resume: %v: phases are %v, %d resumed", resume, all, n)
		}
	}
}

// Sessions without an identity have ordinary sockets, which their transport reads for all of them, and their phases are reported with their numbers.
func TestPlainConnectionsAreCounted(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a := Plain(2)
	var phases []Made
	a.Watch(func(m Made) { phases = append(phases, m) })
	id := a.Session(2)
	conn, err := id.Dial(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if _, plain := conn.(*net.TCPConn); !plain {
		t.Errorf("the connection is a %T", conn)
	}
	if id.User != "" || id.Digests != nil || id.Owners != nil || id.Chroot != "" || !a.IsPlain() || a.Encrypted() {
		t.Errorf("the session is somebody: %+v", id)
	}
	id.Opened(3*time.Millisecond, 2*time.Millisecond)
	a.Watch(nil)
	id.Opened(time.Millisecond, 0)
	if len(phases) != 3 || phases[0].Phase != TCP || phases[1].Phase != ZooKeeper || phases[2].Phase != SASL || phases[0].Session != 2 {
		t.Fatalf("phases are %+v", phases)
	}
	if session, sasl := phases[1].End.Sub(phases[1].Start), phases[2].End.Sub(phases[2].Start); session != 3*time.Millisecond || sasl != 2*time.Millisecond {
		t.Errorf("the handshake took %v and SASL %v, want 3ms and 2ms", session, sasl)
	}
	if all, _ := a.Phases(); len(all) != 3 || all[1].Count != 2 {
		t.Errorf("Phases() = %+v", all)
	}
}

func TestAStartedEnsembleSaysWhatItsClientsNeed(t *testing.T) {
	c := ensemble.Credentials{CA: "ca", Cert: "cert", Key: "key", Auth: "auth"}
	own := profiles.Credential{File: "mine"}
	got := Settings{TLS: profiles.TLS{CA: profiles.SystemCA, Resume: true}, Auth: []profiles.Credential{own}}.With(c)
	want := Settings{TLS: profiles.TLS{CA: "ca", Cert: "cert", Key: "key", ServerName: "localhost", Resume: true}, Auth: []profiles.Credential{own}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("With() = %+v, want %+v", got, want)
	}
	if got := (Settings{}).With(ensemble.Credentials{}); !got.plain() {
		t.Errorf("an ensemble that is not secured asks for %+v", got)
	}
}

// The flags that a message prints for reaching the servers are those of the settings.
func TestFlags(t *testing.T) {
	for _, c := range []struct {
		set  Settings
		want string
	}{
		{Settings{}, ""},
		{Settings{TLS: profiles.TLS{CA: "ca", Cert: "cert", Key: "key", ServerName: "zk", Resume: true}, Auth: []profiles.Credential{{File: "auth"}}, Chroot: "/tenant"},
			" --tls-ca ca --tls-cert cert --tls-key key --tls-server-name zk --auth-file auth --chroot /tenant --tls-resume"},
		{Settings{Auth: []profiles.Credential{{Scheme: "sasl", User: "u", Password: profiles.Secret{File: "p"}}}}, " --auth-file FILE"},
	} {
		if got := c.set.Flags(); got != c.want {
			t.Errorf("Flags() = %q, want %q", got, c.want)
		}
	}
	if got := (*Access)(nil).Flags(); got != "" {
		t.Errorf("Flags() of plain sessions = %q", got)
	}
}
