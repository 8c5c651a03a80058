package digestmd5

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// The example of RFC 2831, section 4, first table.
func TestTheExampleOfTheRFC(t *testing.T) {
	c := Credential{User: "chris", Password: "secret", URI: "imap/elwood.innosoft.com"}
	challenge := `realm="elwood.innosoft.com",nonce="OA6MG9tEQGm2hh",qop="auth",algorithm=md5-sess,charset=utf-8`
	response, proof, err := c.Respond([]byte(challenge), "OA6MHXh6VqTrRk")
	if err != nil || !strings.Contains(string(response), "response=d388dad90d4bbd760a152321f2143af7,") || !strings.Contains(string(response), `username="chris"`) {
		t.Errorf("Respond() = %s, %v, want the response of the RFC", response, err)
	}
	if err := Proved([]byte("rspauth=ea40f60335c427b5527b84dbabcdfffd"), proof); err != nil {
		t.Errorf("%v: proof is %s", err, proof)
	}
	if err := Proved([]byte("rspauth=ea40f60335c427b5527b84dbabcdfffe"), proof); !errors.Is(err, ErrServer) {
		t.Errorf("Proved of a wrong proof = %v, want %v", err, ErrServer)
	}
}

func TestChallenges(t *testing.T) {
	for _, c := range []struct {
		why, challenge string
		ok             bool
	}{
		{"as ZooKeeper 3.8 writes it", `realm="zk-sasl-md5",nonce="n",charset=utf-8,algorithm=md5-sess`, true},
		{"several qualities of protection", `realm="r",nonce="n",qop="auth-int, auth",algorithm=md5-sess`, true},
		{"escapes and spaces", ` realm = "a\"b\\" , nonce="n" , algorithm=md5-sess `, true},
		{"empty", ``, false},
		{"no nonce", `realm="r",algorithm=md5-sess`, false},
		{"another algorithm", `nonce="n",algorithm=md5`, false},
		{"encryption alone", `nonce="n",algorithm=md5-sess,qop="auth-conf"`, false},
		{"an open quote", `nonce="n,algorithm=md5-sess`, false},
		{"no value", `nonce`, false},
		{"too long", `nonce="n",algorithm=md5-sess,realm="` + strings.Repeat("x", maxToken) + `"`, false},
	} {
		_, _, err := Credential{User: "u", Password: "p"}.Respond([]byte(c.challenge), "c")
		if (err == nil) != c.ok || err != nil && !errors.Is(err, ErrChallenge) {
			t.Errorf("%s: %v", c.why, err)
		}
	}
	if latin1("é") != "\xe9" || latin1("€") != "€" {
		t.Error("names that ISO 8859-1 can express must be hashed in it, and others in UTF-8")
	}
}

func FuzzRespond(f *testing.F) {
	f.Add([]byte(`realm="zk-sasl-md5",nonce="n",charset=utf-8,algorithm=md5-sess`))
	f.Add([]byte(`nonce="a\"b",algorithm=md5-sess,,=`))
	f.Fuzz(func(t *testing.T, challenge []byte) {
		const password = "correct horse battery staple"
		response, proof, err := Credential{User: "u", Password: password, URI: "s/h"}.Respond(challenge, "c")
		if bytes.Contains(response, []byte(password)) || err != nil && strings.Contains(err.Error(), password) {
			t.Error("the password is shown")
		}
		if err == nil && Proved(challenge, proof) == nil {
			t.Error("a challenge is its own proof")
		}
		if err == nil {
			if said, err := parse(response); err == nil && said["username"] != "u" { // err: longer than a server's token may be
				t.Errorf("the response names %q", said["username"])
			}
		}
	})
}
