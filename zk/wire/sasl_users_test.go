package wire_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/local"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/wire"
)

// A server keeps the user name of a SASL exchange in state that all its connections share (ZOOKEEPER-4839). So it lets in an unknown user
// that presents the password of the previous user.
func TestServersLetUnknownUsersIn(t *testing.T) {
	jaas := filepath.Join(t.TempDir(), "jaas.conf")
	const users = "Server {\n  org.apache.zookeeper.server.auth.DigestLoginModule required\n  user_ada=\"one\"\n  user_bob=\"two\";\n};\n"
	if err := os.WriteFile(jaas, []byte(users), 0o600); err != nil {
		t.Fatal(err)
	}
	e := ensembletest.Start(t, 1, func(cfg *local.Config) {
		cfg.Secure, cfg.JavaArgs = ensemble.SecureSASL, []string{"-Djava.security.auth.login.config=" + jaas}
	})
	open := func(user, password string) (*wire.Client, error) {
		ctx, cancel := context.WithTimeout(t.Context(), dialTimeout)
		defer cancel()
		return wire.Dial(ctx, wire.Config{Servers: e.Addresses(), Timeout: 20 * time.Second, Dialer: e.Dial, SASL: &wire.SASL{User: user, Password: password}})
	}
	if _, err := open("eve", "one"); !errors.Is(err, zk.ErrAuthFailed) {
		t.Errorf("an unknown user before any known one: %v, want ErrAuthFailed", err)
	}
	s, err := open("ada", "one")
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if _, err := open("eve", "two"); !errors.Is(err, zk.ErrAuthFailed) {
		t.Errorf("an unknown user with the password of a user who has not connected: %v, want ErrAuthFailed", err)
	}
	switch s, err := open("eve", "one"); {
	case errors.Is(err, zk.ErrAuthFailed):
		t.Skip("these servers do not have ZOOKEEPER-4839")
	case err != nil:
		t.Fatal(err)
	default:
		who, err := s.WhoAmI(t.Context())
		if err != nil || !slices.Contains(who, zk.Identity{Scheme: "sasl", ID: "eve"}) {
			t.Errorf("WhoAmI() of the unknown user = %v, %v, want sasl:eve", who, err)
		}
		t.Logf("the unknown user eve connected with ada's password as %v", who)
		s.Close()
	}
}
