package access

import (
	"context"
	"crypto/sha1"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/zk"
)

// Settings is what a profile says about access. It holds references, no secrets.
type Settings struct {
	TLS    profiles.TLS
	Auth   []profiles.Credential
	ACL    string
	Chroot string
}

// SettingsOf returns the settings of a profile.
func SettingsOf(p profiles.Profile) Settings {
	return Settings{TLS: p.TLS, Auth: p.Auth, ACL: p.ACL, Chroot: p.Chroot}
}

// With adds to the settings what clients need to reach an ensemble that was started for the run, unless the profile says it; the authority is always the
// ensemble's own.
func (s Settings) With(c ensemble.Credentials) Settings {
	if c.CA != "" {
		s.TLS.CA, s.TLS.ServerName, s.TLS.Resume = c.CA, "localhost", s.TLS.Resume || c.Resume
	}
	if s.TLS.Cert == "" {
		s.TLS.Cert, s.TLS.Key = c.Cert, c.Key
	}
	if len(s.Auth) == 0 && c.Auth != "" {
		s.Auth = []profiles.Credential{{File: c.Auth}}
	}
	return s
}

// Flags returns the flags with which a command reaches servers by these settings, each after a space. FILE stands for credentials that are not in a single
// file as --auth-file takes it.
func (s Settings) Flags() (text string) {
	auth := ""
	if len(s.Auth) > 0 {
		auth = "FILE"
	}
	if len(s.Auth) == 1 && s.Auth[0].File != "" {
		auth = s.Auth[0].File
	}
	for _, f := range [][2]string{{"--tls-ca", s.TLS.CA}, {"--tls-cert", s.TLS.Cert}, {"--tls-key", s.TLS.Key}, {"--tls-server-name", s.TLS.ServerName},
		{"--auth-file", auth}, {"--chroot", s.Chroot}} {
		if f[1] != "" {
			text += " " + f[0] + " " + f[1]
		}
	}
	if s.TLS.Resume {
		text += " --tls-resume"
	}
	return text
}

// plain reports whether the settings require nothing.
func (s Settings) plain() bool {
	return s.TLS == profiles.TLS{} && len(s.Auth) == 0 && (s.ACL == "" || s.ACL == profiles.ACLWorld) && s.Chroot == ""
}

// Access creates the sessions of one run. Its methods may be called from many goroutines.
type Access struct {
	set   Settings
	creds []credential
	roots *x509.CertPool
	certs []tls.Certificate // of the clients, used in turn; empty if clients have none
	names []string          // the identities that the servers derive from these certificates
	all   int               // sessions of the run, including the administrative one

	phases phases

	mu      sync.Mutex
	configs map[configOf]*tls.Config
	seen    string // TLS version and cipher of the latest connection
}

// configOf identifies a tls.Config: by server, because each has its own tickets, and by certificate.
type configOf struct {
	address string
	cert    int
}

// credential is a credential with its secret.
type credential struct {
	scheme, user string // the user may contain profiles.SessionNumber
	password     secret
}

// secret returns a secret. It is a function because no format verb prints what a function returns, whatever structure contains it.
type secret func() string

func keep(text string) secret { return func() string { return text } }

// Load reads what the settings refer to, for a run with the given number of sessions. It returns nil if the settings require nothing. The error names the
// reference and what is wrong with it, but no secret.
func Load(set Settings, sessions int) (*Access, error) {
	if set.plain() {
		return nil, nil
	}
	a := &Access{set: set, all: sessions + 1, configs: map[configOf]*tls.Config{}}
	var problems []error
	for _, c := range set.Auth {
		read, err := readCredential(c)
		problems = append(problems, err)
		a.creds = append(a.creds, read...)
	}
	if sasl := slices.DeleteFunc(slices.Clone(a.creds), func(c credential) bool { return c.scheme != profiles.SASL }); len(sasl) > 1 {
		problems = append(problems, errors.New("auth: a session has at most one SASL identity; keep one"))
	}
	problems = append(problems, a.readTLS())
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	if a.set.ACL == "" {
		a.set.ACL = profiles.ACLWorld
		if a.identified() {
			a.set.ACL = profiles.ACLShared
		}
	}
	if a.set.ACL != profiles.ACLWorld {
		if !a.identified() {
			return nil, fmt.Errorf("acl: %s needs sessions with an identity: give auth (--auth-file), or tls with a certificate (--tls-cert)", a.set.ACL)
		}
		if _, err := a.shared(); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// Plain returns an Access whose sessions have no identity and connect in the clear: it measures how their connections are made. It is for a run with the
// given number of sessions.
func Plain(sessions int) *Access {
	return &Access{set: Settings{ACL: profiles.ACLWorld}, all: sessions + 1}
}

// IsPlain reports whether a is nil or made by Plain.
func (a *Access) IsPlain() bool { return a == nil || a.set.plain() }

// identified reports whether the sessions authenticate.
func (a *Access) identified() bool { return len(a.creds)+len(a.certs) > 0 }

// Identity is the identity of one session.
type Identity struct {
	User, Password string        // for SASL; "" for none
	Digests        [][]byte      // USER:PASSWORD of the scheme digest
	Owners         []zk.Identity // the only ones who may use what the session creates; empty for the world
	Chroot         string
	// Dial opens a connection, encrypted if the settings say so.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Opened is called for each connection with the duration of the handshake of ZooKeeper's protocol, and of SASL; 0 if there was none.
	Opened func(session, sasl time.Duration)
}

// Session returns the identity of a session of the run by its number: 0 for the administrative one.
func (a *Access) Session(number int) Identity {
	if number < 0 || number >= a.all { // sessions other than those of the load
		number = 0
	}
	i := Identity{Chroot: a.set.Chroot, Owners: a.owners(number)}
	for _, c := range a.creds {
		user := c.name(number)
		if c.scheme == profiles.SASL {
			i.User, i.Password = user, c.password()
		} else {
			i.Digests = append(i.Digests, []byte(user+":"+c.password()))
		}
	}
	i.Opened = func(session, sasl time.Duration) {
		proved := time.Now()
		greeted := proved.Add(-sasl)
		a.phases.note(Made{Session: number, Phase: ZooKeeper, Start: greeted.Add(-session), End: greeted})
		if sasl > 0 {
			a.phases.note(Made{Session: number, Phase: SASL, Start: greeted, End: proved})
		}
	}
	i.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		return a.dial(ctx, network, address, number)
	}
	return i
}

func (c credential) name(number int) string {
	return strings.ReplaceAll(c.user, profiles.SessionNumber, strconv.Itoa(number))
}

// own reports whether the user differs between sessions.
func (c credential) own() bool { return strings.Contains(c.user, profiles.SessionNumber) }

// id returns the identity that the servers derive from the credential.
func (c credential) id(number int) zk.Identity {
	user := c.name(number)
	if c.scheme == profiles.SASL {
		return zk.Identity{Scheme: "sasl", ID: user}
	}
	sum := sha1.Sum([]byte(user + ":" + c.password()))
	return zk.Identity{Scheme: "digest", ID: user + ":" + base64.StdEncoding.EncodeToString(sum[:])}
}

// authenticated stands for the identity of the session that creates a znode, whatever the server derives.
var authenticated = zk.Identity{Scheme: "auth"}

// identities returns the identities that the servers derive for a session, as far as they do not map names.
func (a *Access) identities(number int) (all []zk.Identity) {
	for _, c := range a.creds {
		all = append(all, c.id(number))
	}
	if len(a.certs) > 0 {
		all = append(all, zk.Identity{Scheme: "x509", ID: a.names[a.certOf(number)]})
	}
	return all
}

// owners returns the ACL entries for what a session creates. The administrative session creates the directories, which all sessions need, and must be able to
// remove what the others create.
func (a *Access) owners(number int) []zk.Identity {
	switch {
	case a.set.ACL == profiles.ACLWorld:
		return nil
	case a.set.ACL == profiles.ACLShared || number == 0:
		all, _ := a.shared()
		return all
	case !a.varied():
		return []zk.Identity{authenticated}
	}
	return append([]zk.Identity{authenticated}, a.identities(0)...)
}

// varied reports whether identities differ between sessions.
func (a *Access) varied() bool {
	return len(a.certs) > 1 || slices.ContainsFunc(a.creds, credential.own)
}

// maxShared is the longest ACL that names every identity of a run: each create request carries it.
const maxShared = 64

// shared returns identities such that every session has at least one of them.
func (a *Access) shared() ([]zk.Identity, error) {
	if !a.varied() {
		return []zk.Identity{authenticated}, nil
	}
	var common []zk.Identity
	for _, c := range a.creds {
		if !c.own() {
			common = append(common, c.id(0))
		}
	}
	if len(a.certs) == 1 {
		common = append(common, a.identities(0)[len(a.creds)])
	}
	if len(common) > 0 {
		return common, nil
	}
	var all []zk.Identity
	for number := range a.all {
		for _, id := range a.identities(number) {
			if !slices.Contains(all, id) {
				all = append(all, id)
			}
		}
		if len(all) > maxShared {
			return nil, fmt.Errorf("acl: %d sessions with an identity each need an ACL of more than %d entries; add a digest credential to auth that all of them share, "+
				"or set acl: world", a.all, maxShared)
		}
	}
	return all, nil
}

// Encrypted reports whether connections use TLS.
func (a *Access) Encrypted() bool { return a != nil && a.set.TLS != profiles.TLS{} }

// Dialer returns the function that opens the connections to inspect the servers, as the administrative session does. It is nil for plain connections.
func (a *Access) Dialer() func(ctx context.Context, network, address string) (net.Conn, error) {
	if !a.Encrypted() {
		return nil
	}
	return a.Session(0).Dial
}

// Unsupported says which settings an engine without SASL and chroot does not support; nil if it supports all.
func (a *Access) Unsupported(engine string) error {
	if slices.ContainsFunc(a.creds, func(c credential) bool { return c.scheme == profiles.SASL }) {
		return fmt.Errorf("auth: the engine %s has no SASL; use engine: native, or a digest credential", engine)
	}
	if a.set.Chroot != "" {
		return fmt.Errorf("chroot: the engine %s has none; use engine: native, or --root %s/zkbench", engine, a.set.Chroot)
	}
	return nil
}

// Flags returns the flags of the Settings; none for plain sessions.
func (a *Access) Flags() string {
	if a == nil {
		return ""
	}
	return a.set.Flags()
}

// String describes the connections and the identities of the sessions, for the result.
func (a *Access) String() string {
	text := "plain connections"
	if a.Encrypted() {
		a.mu.Lock()
		text = strings.TrimSpace("TLS " + a.seen)
		a.mu.Unlock()
		if a.set.TLS.Resume {
			text += ", resumed where the servers allow it"
		}
	}
	var who []string
	for _, c := range a.creds {
		who = append(who, c.scheme+":"+c.user)
	}
	switch n := len(a.certs); {
	case n == 1:
		who = append(who, "x509:"+a.names[0])
	case n > 1:
		who = append(who, fmt.Sprintf("x509 (%d certificates in turn)", n))
	}
	if len(who) > 0 {
		text += "; sessions authenticate as " + strings.Join(who, " and ")
	}
	text += "; ACL of the znodes: " + a.set.ACL
	if a.set.Chroot != "" {
		text += "; chroot " + a.set.Chroot
	}
	return text
}

// Check asks the server for the identity of a session, and reports which identity of the settings the server does not know. Servers that cannot answer are
// trusted.
func (a *Access) Check(ctx context.Context, s zk.Session) error {
	if a.set.Chroot != "" {
		if _, there, err := s.Exists(ctx, "/"); err != nil {
			return fmt.Errorf("chroot %s: %w", a.set.Chroot, err)
		} else if !there {
			return fmt.Errorf("chroot %s: there is no such znode; create it, or choose another", a.set.Chroot)
		}
	}
	asker, ok := zk.AsIntrospector(s)
	if !ok || !a.identified() {
		return nil
	}
	said, err := asker.WhoAmI(ctx)
	if err != nil {
		if errors.Is(err, zk.ErrUnimplemented) { // before ZooKeeper 3.7
			return nil
		}
		return err
	}
	var missing []string
	for _, want := range a.identities(0) {
		known := func(got zk.Identity) bool {
			// whoAmI shows only names, and the server may shorten those of SASL.
			user, _, _ := strings.Cut(want.ID, ":")
			return got.Scheme == want.Scheme && (want.Scheme == "x509" || got.ID == user || strings.HasPrefix(got.ID, user))
		}
		if !slices.ContainsFunc(said, known) {
			missing = append(missing, want.Scheme)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("the servers report no %s identity for the sessions (%s); enable it there: authProvider.sasl and a JAAS file for SASL, authProvider.x509 and "+
		"ssl.clientAuth=need for certificates", strings.Join(missing, " and "), says(said))
}

func says(all []zk.Identity) string {
	var texts []string
	for _, i := range all {
		texts = append(texts, i.String())
	}
	return "they report " + strings.Join(texts, ", ")
}

// As returns the identity with an additional digest credential, USER:PASSWORD, whose owner alone may use what the session creates.
func (i Identity) As(digest []byte) Identity {
	user, password, _ := strings.Cut(string(digest), ":")
	i.Digests = append(slices.Clone(i.Digests), digest)
	i.Owners = []zk.Identity{credential{scheme: profiles.Digest, user: user, password: keep(password)}.id(0)}
	return i
}

// Nobody returns an identity that connects in the same way but does not authenticate.
func (i Identity) Nobody() Identity {
	i.User, i.Password, i.Digests, i.Owners = "", "", nil, nil
	return i
}

// Through returns the identity with its connections passed through wrap, unencrypted.
func (i Identity) Through(wrap func(net.Conn) net.Conn) Identity {
	dial := i.Dial
	i.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return wrap(c), nil
	}
	return i
}
