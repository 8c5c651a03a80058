package digestmd5

import (
	"bytes"
	"crypto/hmac"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Errors in what a server sends.
var (
	ErrChallenge = errors.New("the server's DIGEST-MD5 challenge is malformed")
	ErrServer    = errors.New("the server does not prove that it knows the password")
)

// Credential says who authenticates, and to what.
type Credential struct {
	User, Password string
	URI            string // digest-uri: service/host
}

// maxToken limits the length of a server's token, in bytes (RFC 2831 2.1.1: a challenge is shorter than 2048).
const maxToken = 2048

// Respond answers a server's challenge (RFC 2831 2.1.2). cnonce is a client nonce, new for each response; proof is what the server's next token must be (2.1.3): see Proved.
func (c Credential) Respond(challenge []byte, cnonce string) (response, proof []byte, err error) {
	said, err := parse(challenge)
	if err != nil {
		return nil, nil, err
	}
	nonce, realm := said["nonce"], said["realm"]
	switch {
	case nonce == "" || said["algorithm"] != "md5-sess":
		return nil, nil, fmt.Errorf("%w: it needs a nonce and the algorithm md5-sess", ErrChallenge)
	case said["qop"] != "" && !slices.Contains(strings.Split(strings.ReplaceAll(said["qop"], " ", ""), ","), "auth"):
		return nil, nil, fmt.Errorf("%w: it offers no quality of protection 'auth'", ErrChallenge)
	}
	const count, qop = "00000001", "auth"
	secret := md5.Sum([]byte(latin1(c.User) + ":" + latin1(realm) + ":" + latin1(c.Password)))
	a1 := sum(string(secret[:]) + ":" + nonce + ":" + cnonce)
	digest := func(a2 string) string {
		return sum(a1 + ":" + nonce + ":" + count + ":" + cnonce + ":" + qop + ":" + sum(a2))
	}
	var b bytes.Buffer
	if said["charset"] == "utf-8" {
		b.WriteString("charset=utf-8,")
	}
	fmt.Fprintf(&b, `username=%s,realm=%s,nonce=%s,nc=%s,cnonce=%s,digest-uri=%s,maxbuf=65536,response=%s,qop=%s`, quote(c.User), quote(realm),
		quote(nonce), count, quote(cnonce), quote(c.URI), digest("AUTHENTICATE:"+c.URI), qop)
	return b.Bytes(), []byte("rspauth=" + digest(":"+c.URI)), nil
}

// Proved returns nil if the server's last token is the proof.
func Proved(token, proof []byte) error {
	if !hmac.Equal(bytes.TrimSpace(token), proof) {
		return ErrServer
	}
	return nil
}

func sum(text string) string {
	h := md5.Sum([]byte(text))
	return hex.EncodeToString(h[:])
}

// latin1 encodes names and passwords for hashing: in ISO 8859-1 if possible, otherwise in UTF-8 (RFC 2831 2.1.2.1).
func latin1(text string) string {
	b := make([]byte, 0, len(text))
	for _, c := range text {
		if c > 0xff {
			return text
		}
		b = append(b, byte(c))
	}
	return string(b)
}

func quote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// parse reads directives: name=value separated by commas, where a value is a token or a quoted string. If a name is repeated, its first value counts:
// only realms may be repeated.
func parse(text []byte) (map[string]string, error) {
	if len(text) > maxToken {
		return nil, fmt.Errorf("%w: %d bytes", ErrChallenge, len(text))
	}
	all := map[string]string{}
	for rest := string(text); ; {
		rest = strings.TrimLeft(rest, " \t\r\n,")
		if rest == "" {
			return all, nil
		}
		name, after, ok := strings.Cut(rest, "=")
		if !ok {
			return nil, ErrChallenge
		}
		var value string
		if strings.HasPrefix(after, `"`) {
			if value, rest, ok = unquote(after[1:]); !ok {
				return nil, ErrChallenge
			}
		} else {
			value, rest, _ = strings.Cut(after, ",")
			value = strings.TrimSpace(value)
		}
		if name = strings.ToLower(strings.TrimSpace(name)); all[name] == "" {
			all[name] = value
		}
	}
}

// unquote reads the rest of a quoted string after its opening quote.
func unquote(text string) (value, rest string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return b.String(), text[i+1:], true
		case c == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", "", false
}
