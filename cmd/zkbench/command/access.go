package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/zkbench/zkbench/bench/access"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/profiles"
)

// accessFlags are the flags of every command that connects, for the identity of its sessions and the way they connect. They override the profile,
// key by key. They never contain secrets, only the files that contain them.
type accessFlags struct {
	tls         profiles.TLS
	authFile    string
	acl, chroot string
}

func (x *accessFlags) add(f *pflag.FlagSet) {
	x.addConnecting(f)
	f.StringVar(&x.acl, "acl", "", "who may use the znodes that zkbench creates: creator, shared or world (default: shared where the sessions have an identity)")
}

// addConnecting adds the flags of a command that creates no znodes for others to use, and so has no --acl.
func (x *accessFlags) addConnecting(f *pflag.FlagSet) {
	f.StringVar(&x.tls.CA, "tls-ca", "", "connect with TLS; `file` of the authorities that sign the servers' certificates, or 'system'")
	f.StringVar(&x.tls.Cert, "tls-cert", "", "client certificate, a `file` in PEM, or a directory of NAME.pem and NAME.key used in turn")
	f.StringVar(&x.tls.Key, "tls-key", "", "key of the client certificate, a `file` in PEM")
	f.StringVar(&x.tls.ServerName, "tls-server-name", "", "`name` that the servers' certificates are for (default: the host of each address)")
	f.BoolVar(&x.tls.Resume, "tls-resume", false, "resume TLS sessions")
	f.StringVar(&x.authFile, "auth-file", "", "authenticate with the credentials in this `file`: lines of 'SCHEME USER:PASSWORD', where SCHEME is sasl or digest")
	f.StringVar(&x.chroot, "chroot", "", "existing znode, a `path`, below which all other paths are, including --root")
}

// sets returns the assignments to the profile. Values are quoted as in JSON, which YAML can read.
func (x accessFlags) sets() (all []string) {
	quote := func(text string) string {
		quoted, _ := json.Marshal(text)
		return string(quoted)
	}
	if x.tls != (profiles.TLS{}) {
		var keys []string
		for key, value := range map[string]string{"ca": x.tls.CA, "cert": x.tls.Cert, "key": x.tls.Key, "server_name": x.tls.ServerName} {
			if value != "" {
				keys = append(keys, key+": "+quote(value))
			}
		}
		if x.tls.Resume {
			keys = append(keys, "resume: true")
		}
		all = append(all, "tls={"+strings.Join(keys, ", ")+"}")
	}
	if x.authFile != "" {
		all = append(all, "auth=[{file: "+quote(x.authFile)+"}]")
	}
	if x.acl != "" {
		all = append(all, "acl="+quote(x.acl))
	}
	if x.chroot != "" {
		all = append(all, "chroot="+quote(x.chroot))
	}
	return all
}

// load returns the access of a command without a profile, which opens one session. It is nil for a plain session.
func (x accessFlags) load() (*access.Access, error) {
	s := access.Settings{TLS: x.tls, ACL: x.acl, Chroot: x.chroot}
	if x.tls != (profiles.TLS{}) && x.tls.CA == "" {
		return nil, usagef("--tls-cert, --tls-key, --tls-server-name and --tls-resume need --tls-ca: the servers' authority, or 'system'")
	}
	if x.authFile != "" {
		s.Auth = []profiles.Credential{{File: x.authFile}}
	}
	a, err := access.Load(s, 0)
	if err != nil {
		return nil, usageError{err}
	}
	return a, nil
}

// unseen adds to the error of unencrypted requests that a server speaks TLS, if one does.
func unseen(ctx context.Context, t ensemble.Target, err error) error {
	if err == nil || t.Dial != nil || !errors.Is(err, ensemble.ErrNoQuorum) && !errors.Is(err, ensemble.ErrUnreachable) {
		return err
	}
	for _, address := range t.Addresses {
		if access.SpeaksTLS(ctx, address) {
			return fmt.Errorf("%s: %w: it speaks TLS; give --tls-ca (tls: ca in the profile) and, if it asks for one, a client certificate (--tls-cert with --tls-key)",
				address, ensemble.ErrUnreachable)
		}
	}
	return err
}
