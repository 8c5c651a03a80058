package profiles

import (
	"reflect"
	"strings"
	"testing"
)

const secured = "workload: lock\nvariants: [naive]\nsessions: 1\n"

func TestAccessIsReadAndWritten(t *testing.T) {
	p, err := catalogue.Parse("p.yaml", []byte(secured+`auth:
  - {scheme: sasl, user: "bench-{session}", password: {file: /run/secrets/zk}}
  - {scheme: digest, credential: {env: ZK_DIGEST}}
  - {file: credentials}
tls: {ca: ca.pem, cert: client.pem, key: client.key, server_name: zk, resume: true}
acl: creator
chroot: /tenants/bench
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []Credential{{Scheme: SASL, User: "bench-{session}", Password: Secret{File: "/run/secrets/zk"}},
		{Scheme: Digest, Whole: Secret{Env: "ZK_DIGEST"}}, {File: "credentials"}}
	if !reflect.DeepEqual(p.Auth, want) || p.TLS != (TLS{"ca.pem", "client.pem", "client.key", "zk", true}) || p.ACL != ACLCreator || p.Chroot != "/tenants/bench" {
		t.Errorf("read %+v %+v %q %q", p.Auth, p.TLS, p.ACL, p.Chroot)
	}
	text, err := Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	again, err := catalogue.Parse("q.yaml", text)
	if err != nil || !reflect.DeepEqual(again.Auth, p.Auth) || again.TLS != p.TLS {
		t.Errorf("written as\n%s\nread back as %+v %+v, %v", text, again.Auth, again.TLS, err)
	}
}

// No message shows what may be a secret.
func TestALiteralSecretIsRefusedWithItsPlace(t *testing.T) {
	const secret = "hunter2"
	for _, c := range []struct{ line, place, says string }{
		{`auth: [{scheme: sasl, user: u, password: hunter2}]`, "4:42", "a literal secret is refused"},
		{`auth: [{scheme: sasl, user: u, password: [hunter2]}]`, "4:42", "a literal secret is refused"},
		{`auth: [{scheme: digest, credential: "u:hunter2"}]`, "4:37", "a literal secret is refused"},
		{`auth: [{scheme: digest, user: "u:hunter2", password: {env: P}}]`, "4:31", "without a colon"},
		{`auth: [{scheme: sasl, user: u, password: {env: "hunter2!"}}]`, "4:48", "the name of an environment variable"},
		{`auth: [{scheme: sasl, user: u, password: {hunter2: x}}]`, "4:43", "unknown field"},
		{`auth: [{scheme: sasl, user: u, password: {file: a, env: B}}]`, "4:42", "one of file and env"},
		{`auth: [{scheme: sasl, user: u, password: {}}]`, "4:42", "one of file and env"},
		{`auth: [{scheme: hunter2, user: u, password: {env: P}}]`, "4:17", "sasl or digest"},
		{`auth: [{scheme: sasl, user: u}]`, "4:8", "user and password are required"},
		{`auth: [{user: u, password: {env: P}}]`, "4:8", "scheme is missing"},
		{`auth: [{scheme: digest, user: u, credential: {env: P}}]`, "4:8", "excludes user"},
		{`auth: [{file: f, scheme: sasl}]`, "4:8", "file excludes the other fields"},
		{`auth: hunter2`, "4:7", "expected a list of credentials"},
		{`auth: [hunter2]`, "4:8", "expected a list of credentials"},
		{`auth: []`, "4:7", "expected a list of credentials"},
		{`auth: [{scheme: sasl, user: u, password: {env: P}}, {scheme: sasl, user: v, password: {env: P}}]`, "4:7", "at most one SASL"},
		{`tls: {cert: a, key: b}`, "4:6", "ca is missing"},
		{`tls: {ca: a, key: b}`, "4:6", "key without cert"},
		{`tls: {ca: a, resume: perhaps}`, "4:22", "not a boolean"},
		{`tls: {ca: a, crt: b}`, "4:14", "unknown field"},
		{`tls: yes`, "4:6", "not a map"},
		{`acl: everybody`, "4:6", "creator, shared, world"},
		{`chroot: tenants`, "4:9", "not a path"},
		{`chroot: /a/`, "4:9", "not a path"},
		{`secure: kerberos`, "4:9", "none, tls, tls-resumed, mtls, sasl, digest"},
	} {
		_, err := catalogue.Parse("p.yaml", []byte(secured+c.line+"\n"))
		if err == nil || !strings.Contains(err.Error(), "p.yaml:"+c.place) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: error is %v, want p.yaml:%s and %q", c.line, err, c.place, c.says)
		}
	}
}

// The command line is stored with the result, including assignments that a later one replaces.
func TestALiteralSecretThatIsReplacedIsRefused(t *testing.T) {
	p, err := catalogue.Parse("p.yaml", []byte(secured))
	if err != nil {
		t.Fatal(err)
	}
	_, err = Set(p, "auth=[{scheme: sasl, user: u, password: hunter2}]", "auth=[{file: f}]")
	if err == nil || !strings.Contains(err.Error(), "--set auth: ") || !strings.Contains(err.Error(), "a literal secret is refused") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error is %v, want a refusal", err)
	}
	if p, err = Set(p, "auth=[{file: e}]", "auth=[{file: f}]"); err != nil || !reflect.DeepEqual(p.Auth, []Credential{{File: "f"}}) {
		t.Errorf("two references give %+v, %v, want the later", p.Auth, err)
	}
}
