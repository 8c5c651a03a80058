package profiles

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// The types of the fields that say who the sessions are and how they connect. No message shows a value that may contain a secret.
type (
	credentials struct{} // a list of maps
	transport   struct{} // a map
	znode       struct{} // an absolute path on the servers
)

func (credentials) allowed(Field) string {
	return "a list of credentials, such as [{scheme: sasl, user: bench, password: {file: PATH}}], [{scheme: digest, credential: {env: NAME}}] or [{file: PATH}]"
}

func (k credentials) read(r *reader, f Field, n *yaml.Node) (any, bool) {
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		return nil, r.fault(n, fmt.Sprintf("%s: expected %s", f.Key, k.allowed(f)))
	}
	var all []Credential
	ok := true
	for _, item := range n.Content {
		one, good := k.one(r, f, item)
		all, ok = append(all, one), ok && good
	}
	sasl := 0
	for _, c := range all {
		if c.Scheme == SASL {
			sasl++
		}
	}
	if sasl > 1 {
		ok = r.fault(n, f.Key+": a session has at most one SASL identity")
	}
	return all, ok
}

// one reads one credential.
func (k credentials) one(r *reader, f Field, n *yaml.Node) (c Credential, ok bool) {
	if n.Kind != yaml.MappingNode {
		return c, r.fault(n, fmt.Sprintf("%s: expected %s", f.Key, k.allowed(f)))
	}
	keys := map[string]func(*yaml.Node) bool{
		"scheme": func(v *yaml.Node) bool {
			c.Scheme = v.Value
			return v.Kind == yaml.ScalarNode && slices.Contains([]string{SASL, Digest}, v.Value) ||
				r.fault(v, fmt.Sprintf("%s: scheme: must be %s or %s", f.Key, SASL, Digest))
		},
		"user": func(v *yaml.Node) bool {
			c.User = v.Value
			return printable(v) && !strings.Contains(v.Value, ":") || r.fault(v, f.Key+": user: must be printable text without a colon")
		},
		"password":   func(v *yaml.Node) bool { return k.secret(r, f.Key+": password", v, &c.Password) },
		"credential": func(v *yaml.Node) bool { return k.secret(r, f.Key+": credential", v, &c.Whole) },
		"file": func(v *yaml.Node) bool {
			c.File = v.Value
			return printable(v) || r.fault(v, f.Key+": file: must be the path of a file")
		},
	}
	if !r.keys(f.Key, "a credential", n, keys) {
		return c, false
	}
	switch {
	case c.File != "":
		if c != (Credential{File: c.File}) {
			return c, r.fault(n, f.Key+": file excludes the other fields: each of its lines has a scheme, a user and a password")
		}
	case c.Scheme == "":
		return c, r.fault(n, fmt.Sprintf("%s: required field scheme is missing (%s or %s)", f.Key, SASL, Digest))
	case c.Whole != Secret{}:
		if c.User != "" || c.Password != (Secret{}) {
			return c, r.fault(n, f.Key+": credential is USER:PASSWORD, it excludes user and password")
		}
	case c.User == "" || c.Password == Secret{}:
		return c, r.fault(n, f.Key+": user and password are required, or credential, which is USER:PASSWORD")
	}
	return c, true
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// secret reads the reference to a secret. It rejects a literal secret, and does not repeat it.
func (credentials) secret(r *reader, key string, n *yaml.Node, into *Secret) bool {
	const remedy = " (expected {file: PATH} or {env: NAME}; the secret itself does not belong in a profile)"
	if n.Kind != yaml.MappingNode {
		return r.fault(n, key+": a literal secret is refused"+remedy)
	}
	ok := r.keys(key, "a reference to a secret", n, map[string]func(*yaml.Node) bool{
		"file": func(v *yaml.Node) bool {
			into.File = v.Value
			return printable(v) || r.fault(v, key+": file: must be the path of a file")
		},
		"env": func(v *yaml.Node) bool {
			into.Env = v.Value
			return v.Kind == yaml.ScalarNode && envName.MatchString(v.Value) || r.fault(v, key+": env: must be the name of an environment variable, and not its value")
		},
	})
	if ok && (into.File == "") == (into.Env == "") {
		return r.fault(n, key+": must be one of file and env"+remedy)
	}
	return ok
}

// keys reads the entries of a map, each with the function of its key.
func (r *reader) keys(where, what string, n *yaml.Node, known map[string]func(*yaml.Node) bool) bool {
	ok := true
	seen := map[string]bool{}
	var names []string
	for name := range known {
		names = append(names, name)
	}
	slices.Sort(names)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		read := known[key.Value]
		switch {
		case read == nil:
			ok = r.fault(key, fmt.Sprintf("%s: unknown field of %s (%s)", where, what, didYouMean(key.Value, names)))
		case seen[key.Value]:
			ok = r.fault(key, fmt.Sprintf("%s: duplicate field %s", where, key.Value))
		default:
			seen[key.Value] = true
			ok = read(value) && ok
		}
	}
	return ok
}

func printable(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Tag != "!!null" && n.Value != "" && len(n.Value) <= 1000 &&
		!strings.ContainsFunc(n.Value, func(c rune) bool { return !unicode.IsPrint(c) })
}

// pairs returns a map on one line, without empty entries.
func pairs(entries ...any) *yaml.Node {
	m := flow(yaml.MappingNode)
	for i := 0; i < len(entries); i += 2 {
		key := scalar("!!str", entries[i].(string))
		switch v := entries[i+1].(type) {
		case string:
			if v != "" {
				m.Content = append(m.Content, key, scalar("!!str", v))
			}
		case bool:
			if v {
				m.Content = append(m.Content, key, scalar("!!bool", "true"))
			}
		case Secret:
			if v != (Secret{}) {
				m.Content = append(m.Content, key, pairs("file", v.File, "env", v.Env))
			}
		}
	}
	return m
}

func (credentials) write(value any) *yaml.Node {
	list := flow(yaml.SequenceNode)
	for _, c := range value.([]Credential) {
		list.Content = append(list.Content, pairs("scheme", c.Scheme, "user", c.User, "password", c.Password, "credential", c.Whole, "file", c.File))
	}
	return list
}

func (credentials) schema(Field) object {
	text := object{"type": "string", "minLength": 1}
	secret := object{"type": "object", "additionalProperties": false, "minProperties": 1, "maxProperties": 1, "properties": object{"file": text, "env": text}}
	return object{"type": "array", "minItems": 1, "items": object{"type": "object", "additionalProperties": false, "minProperties": 1,
		"properties": object{"scheme": object{"enum": []string{SASL, Digest}}, "user": text, "password": secret, "credential": secret, "file": text}}}
}

func (transport) allowed(Field) string {
	return "a map, such as {ca: ca.pem} or {ca: ca.pem, cert: client.pem, key: client.key, server_name: zk, resume: true}"
}

func (k transport) read(r *reader, f Field, n *yaml.Node) (any, bool) {
	if n.Kind != yaml.MappingNode {
		return nil, r.wrong(f, n, shown(n)+" is not a map")
	}
	var t TLS
	text := func(key string, into *string) func(*yaml.Node) bool {
		return func(v *yaml.Node) bool {
			*into = v.Value
			return printable(v) || r.fault(v, fmt.Sprintf("%s: %s: must be printable text", f.Key, key))
		}
	}
	ok := r.keys(f.Key, "TLS", n, map[string]func(*yaml.Node) bool{
		"ca": text("ca", &t.CA), "cert": text("cert", &t.Cert), "key": text("key", &t.Key), "server_name": text("server_name", &t.ServerName),
		"resume": func(v *yaml.Node) bool {
			on, good := truth{}.read(r, Field{Key: f.Key + ": resume", Type: truth{}}, v)
			t.Resume = good && on.(bool)
			return good
		},
	})
	if ok && t.CA == "" {
		ok = r.fault(n, fmt.Sprintf("%s: required field ca is missing (a file of certificates, or %s for those that this machine trusts)", f.Key, SystemCA))
	}
	if ok && t.Key != "" && t.Cert == "" {
		ok = r.fault(n, f.Key+": key without cert (expected both, or neither)")
	}
	return t, ok
}

func (transport) write(value any) *yaml.Node {
	t := value.(TLS)
	return pairs("ca", t.CA, "cert", t.Cert, "key", t.Key, "server_name", t.ServerName, "resume", t.Resume)
}

func (transport) schema(Field) object {
	text := object{"type": "string", "minLength": 1}
	return object{"type": "object", "additionalProperties": false, "required": []string{"ca"},
		"properties": object{"ca": text, "cert": text, "key": text, "server_name": text, "resume": object{"type": "boolean"}}}
}

// znodePattern matches an absolute path without a trailing slash.
const znodePattern = `^(/[^/\x00-\x1f]+)+$`

func (znode) allowed(Field) string { return "an absolute path of a znode, such as /tenants/bench" }

func (k znode) read(r *reader, f Field, n *yaml.Node) (any, bool) {
	if n.Kind != yaml.ScalarNode || !regexp.MustCompile(znodePattern).MatchString(n.Value) {
		return nil, r.wrong(f, n, shown(n)+" is not a path")
	}
	return n.Value, true
}

func (znode) write(value any) *yaml.Node { return scalar("!!str", value.(string)) }

func (znode) schema(Field) object { return object{"type": "string", "pattern": `^(/[^/]+)+$`} }
