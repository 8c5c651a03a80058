package command

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/zkbench/zkbench/bench/target"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/local"
	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/internal/tier"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/wire"
)

// An ensemble with TLS and SASL is loaded, refusals come with a remedy, and no secret appears anywhere but in its owner's file.
func TestASecuredEnsemble(t *testing.T) {
	tier.Long(t, "six ensembles, one after the other; TestCertificatesOfAnyName runs on a secured one")
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // so that its calibration does not replace the user's
	e := ensembletest.Start(t, 1, func(cfg *local.Config) { cfg.Secure = ensemble.SecureSASL })
	files, address := e.Credentials(), e.Addresses()[0]
	text, err := os.ReadFile(files.Auth)
	if err != nil {
		t.Fatal(err)
	}
	user, secret, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(string(text)), "sasl "), ":")
	wrong := filepath.Join(t.TempDir(), "wrong")
	if err := os.WriteFile(wrong, []byte("sasl "+user+":x"+secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	digest := filepath.Join(t.TempDir(), "digest")
	if err := os.WriteFile(digest, []byte("digest "+user+":"+secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := wire.Dial(t.Context(), wire.Config{Servers: e.Addresses(), SASL: &wire.SASL{User: user, Password: secret}, Dialer: e.Dial})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	anyone := wire.ACL{Perms: wire.PermRead, Scheme: "world", ID: "anyone"}
	plant(t, s, "/tenant", "")
	for path, perms := range map[string]wire.Perm{"/no-create": wire.PermAdmin, "/no-delete": wire.PermCreate} {
		plant(t, s, path, "")
		if _, err := s.SetACL(t.Context(), path, []wire.ACL{anyone, {Perms: perms, Scheme: "sasl", ID: user}}, zk.AnyVersion); err != nil {
			t.Fatal(err)
		}
	}

	watched := watchArguments(t, secret)
	other := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, []byte("sasl "+user+"-1:"+secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	plant(t, s, "/hidden", "")
	if _, err := s.SetACL(t.Context(), "/hidden", []wire.ACL{{Perms: wire.PermAll, Scheme: "sasl", ID: user}}, zk.AnyVersion); err != nil {
		t.Fatal(err)
	}

	known := slices.Clip([]string{"--servers", address, "--tls-ca", files.CA, "--auth-file", files.Auth})
	load := slices.Clip([]string{"run", "barriers", "--set", "sessions=[3]", "--set", "barriers=2", "--set", "repetitions=1", "-q"})
	share := slices.Clip(append([]string{"run", "quickstart", "-q", "--set", "variants=predecessor", "--set", "sessions=3", "--set", "warmup=0s", "--set", "duration=1s",
		"--share", "1/1", "--meet", "zk://" + address + "/meeting"}, known...))
	silent := func(o ending) ending {
		t.Helper()
		if strings.Contains(o.stdout+o.stderr, secret) {
			t.Error("the command shows the password")
		}
		return o
	}
	for _, c := range []struct {
		why   string
		args  []string
		shown string
	}{
		{"with flags", append(load, known...), "sessions authenticate as sasl:" + user + "; ACL of the znodes: shared"},
		{"as a share that meets on the servers under test", append(share, "--allow-shared"), "sessions authenticate as sasl:" + user},
		{"below a chroot, each session as somebody else, whose znodes are his own", []string{"run", "quickstart", "-q", "--set", "variants=predecessor",
			"--set", "sessions=3", "--set", "warmup=0s", "--set", "duration=1s", "--servers", address, "--tls-ca", files.CA, "--tls-resume", "--chroot", "/tenant",
			"--root", "/mine", "--unused-parent", "--acl", "creator", "--set",
			`auth=[{scheme: sasl, user: "bench-{session}", password: {file: "` + filepath.Join(filepath.Dir(files.Auth), "password") + `"}}]`},
			"sessions authenticate as sasl:bench-{session}"},
	} {
		dir := filepath.Join(t.TempDir(), "out")
		t.Log(c.why)
		silent(newTerminal(t).run(append(c.args, "--out", dir)...)).wantEnd()
		if notes := strings.Join(result(t, dir).Notes, "\n"); !strings.Contains(notes, c.shown) {
			t.Errorf("%s: the notes are %q, want %q", c.why, notes, c.shown)
		}
		withoutSecret(t, dir, secret)
	}
	silent(zkbench(t, append(share, "--out", filepath.Join(t.TempDir(), "out"))...)).want(exitFailed, "the coordinator "+address+" speaks TLS", "--allow-shared")
	dir := filepath.Join(t.TempDir(), "played")
	o := silent(zkbench(t, append([]string{"run", "secured", "--set", "secure=none", "--out", dir}, known...)...))
	o.want(exitOK, "8 trials: ")
	withoutSecret(t, dir, secret)
	silent(zkbench(t, append([]string{"clean", "--yes"}, known...)...)).want(exitOK, "no zkbench data under /zkbench")

	for _, c := range []struct {
		why  string
		args []string
		code int
		says string
	}{
		{"plain connections", []string{"--servers", address}, exitFailed, "--tls-ca"},
		{"no credentials", []string{"--servers", address, "--tls-ca", files.CA}, exitFailed, "--auth-file"},
		{"a wrong password", []string{"--servers", address, "--tls-ca", files.CA, "--auth-file", wrong}, exitFailed, "wrong user or password"},
		{"another scheme than the servers want", []string{"--servers", address, "--tls-ca", files.CA, "--auth-file", digest}, exitFailed, "credentials of a scheme that the servers ask for"},
		{"another authority", []string{"--servers", address, "--tls-ca", "system", "--auth-file", files.Auth}, exitFailed, "give the servers' own authority"},
		{"another host", append([]string{"--tls-server-name", "other.example"}, known...), exitFailed, "--tls-server-name"},
		{"a chroot that is missing", append([]string{"--chroot", "/missing"}, known...), exitFailed, "there is no such znode"},
		{"no CREATE", append([]string{"--root", "/no-create/mine", "--unused-parent"}, known...), exitFailed, "CREATE and DELETE"},
		{"no DELETE", append([]string{"--root", "/no-delete/mine", "--unused-parent"}, known...), exitFailed, "grant DELETE"},
		{"an engine without SASL", append([]string{"--engine", "go-zookeeper"}, known...), exitUsage, "has no SASL"},
		{"a literal secret", append([]string{"--set", "auth=[{scheme: sasl, user: u, password: " + secret + "}]"}, known[:4]...), exitUsage, "a literal secret is refused"},
		{"a fault that has to read the protocol", append([]string{"--set", "faults=[{at: 1s, kind: cut-reply}]"}, known...), exitUsage, "which TLS hides"},
	} {
		dir := filepath.Join(t.TempDir(), "out")
		t.Run(c.why, func(t *testing.T) {
			o := silent(newTerminal(t).run(append(append(load, c.args...), "--out", dir)...)).want(c.code, c.says)
			if _, err := os.Stat(dir); err == nil || strings.Contains(o.stdout, "Result") {
				t.Error("there is a result")
			}
		})
	}
	for _, path := range []string{"/", "/no-create", "/no-delete", "/tenant"} {
		if left, _, err := s.Children(t.Context(), path); err != nil || strings.Contains(strings.Join(left, " "), "mine") || strings.Contains(strings.Join(left, " "), "zkbench") {
			t.Errorf("%s has %v, %v", path, left, err)
		}
	}
	expiresBeforeTheLoad(t, known)
	encrypted, stranger := slices.Clip(known[:4]), append(slices.Clip(known[:4]), "--auth-file", other)
	for _, c := range []struct {
		args []string
		says string
	}{
		{append([]string{"clean"}, encrypted...), "--auth-file"},
		{append([]string{"clean", "--chroot", "/missing"}, known...), "there is no such znode"},
		{append([]string{"clean", "--root", "/hidden"}, stranger...), "give the credentials of the run that created it"},
		{append([]string{"calibrate", "-q", "--pairs", "0", "--runs", "3", "--for", "100ms", "--sessions", "1"}, encrypted...), "--auth-file"},
	} {
		silent(zkbench(t, c.args...)).want(exitFailed, c.says)
	}
	silent(zkbench(t, append([]string{"clean", "--root", "/", "--dry-run"}, stranger...)...)).want(exitOK, "skipped, not readable", "/hidden")
	if o := silent(zkbench(t, append([]string{"limits", "--for", "1s"}, encrypted...)...)); !strings.Contains(strings.Join(strings.Fields(o.stdout), " "), "credentials of a scheme") {
		t.Errorf("limits without credentials: %s%s", o.stdout, o.stderr)
	}
	silent(zkbench(t, append([]string{"limits", "--for", "1s"}, known...)...)).want(exitOK)
	small := []string{"--set", "variants=predecessor", "--set", "sessions=2", "--set", "warmup=0s", "--set", "duration=300ms", "--set", "drain=5s"}
	compared, searched := filepath.Join(t.TempDir(), "ab"), filepath.Join(t.TempDir(), "capacity")
	listen, scraped := freeAddress(t), make(chan string, 1)
	go func() {
		scraped <- get(t, "http://"+listen+"/metrics", func(text string) bool { return strings.Contains(text, "zkbench_run_info") })
	}()
	for _, c := range []struct {
		args  []string
		shown string
	}{
		{append([]string{"ab", "--a", "quickstart", "--b", "quickstart", "--pairs", "2", "-q", "--out", compared, "--junit", filepath.Join(t.TempDir(), "junit.xml"), "--metrics-listen", listen},
			sides(small)...), "INCONCLUSIVE"},
		{[]string{"calibrate", "-q", "--pairs", "6", "--runs", "3", "--for", "200ms", "--sessions", "2"}, "own share at full load"},
		{[]string{"capacity", "locks-open", "--set", "sessions=4", "--set", "locks=2", "--goal", "p50<10s", "--from", "30", "--to", "40", "--block", "200ms", "--budget", "20s", "-q", "--out", searched}, "Result: "},
	} {
		o := silent(zkbench(t, append(c.args, known...)...))
		if !strings.Contains(o.stdout, c.shown) {
			t.Errorf("%s: exit code %d, the output lacks %q:\n%s%s", c.args[0], o.code, c.shown, o.stdout, o.stderr)
		}
	}
	if strings.Contains(<-scraped, secret) {
		t.Error("the metrics have the password")
	}
	withoutSecret(t, compared, secret) // including its runs and their pages
	if probes, _ := filepath.Glob(filepath.Join(searched, probeDir+"*", "run.json")); len(probes) == 0 {
		t.Error("the search has made no probe")
	}
	withoutSecret(t, searched, secret) // including its probes
	withoutSecret(t, os.Getenv("XDG_CACHE_HOME"), secret)
	authenticatesAgain(t, e, user, secret)
	if n := watched(); n == 0 {
		t.Error("no arguments of a process were searched")
	}
	withoutSecret(t, e.Describe().DataDir, secret) // including the logs of the servers
}

// expiresBeforeTheLoad opens the session of a command, which the servers end at once: the error of the first request says why.
func expiresBeforeTheLoad(t *testing.T, flags []string) {
	t.Helper()
	with := setup()
	open := with.Engines[0].Open
	with.Engines[0].Open = func(ctx context.Context, d target.Dialing) (zk.Session, error) {
		s, err := open(ctx, d)
		if err != nil {
			return nil, err
		}
		killer, _ := zk.AsKiller(s)
		return s, killer.Expire(ctx)
	}
	var who accessFlags
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	servers := f.String("servers", "", "")
	who.addConnecting(f)
	if err := f.Parse(flags); err != nil {
		t.Fatal(err)
	}
	as, err := who.load()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := with.OpenAs(t.Context(), with.Engines[0].Name, []string{*servers}, cleanTimeout, as); !errors.Is(err, zk.ErrSessionExpired) ||
		!strings.Contains(err.Error(), "session_timeout") {
		t.Errorf("a session that the servers have ended: %v, want ErrSessionExpired with a remedy", err)
	}
}

// sides gives both sides of a comparison the assignments of a run.
func sides(sets []string) (all []string) {
	for _, text := range sets {
		if text != "--set" {
			all = append(all, "--a-set", text, "--b-set", text)
		}
	}
	return all
}

// authenticatesAgain cuts off a session that has created a znode only for itself. After the reconnection, for which the server only knows that it continues
// the session, the session must be the same user again.
func authenticatesAgain(t *testing.T, e *local.Local, user, secret string) {
	t.Helper()
	p, err := proxy.Start(t.Context(), proxy.Config{Upstreams: e.Addresses(), Encrypted: true})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	s, err := wire.Dial(t.Context(), wire.Config{Servers: p.Addresses(), SASL: &wire.SASL{User: user, Password: secret}, Dialer: e.Dial,
		ACL: []wire.ACL{{Perms: wire.PermAll, Scheme: "auth"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Create(t.Context(), "/own", []byte("mine"), zk.Ephemeral); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if p.Reset(0) == 0 {
			t.Error("there was no connection to reset")
		}
		data, _, err := s.Get(t.Context(), "/own")
		for errors.Is(err, zk.ErrMaybeApplied) || errors.Is(err, zk.ErrNotSent) { // the connection broke in the meantime
			data, _, err = s.Get(t.Context(), "/own")
		}
		if err != nil || string(data) != "mine" {
			t.Fatalf("after a reconnection the session reads %q, %v", data, err)
		}
	}
}

// watchArguments repeatedly searches the arguments of all processes, including those of the servers and of all that a command starts, until stop is called.
// stop returns how many it has read.
func watchArguments(t *testing.T, secret string) (stop func() int) {
	t.Helper()
	if found, _ := filepath.Glob("/proc/[0-9]*/cmdline"); len(found) == 0 {
		t.Skip("no process tells its arguments here")
	}
	done, read := make(chan struct{}), make(chan int, 1)
	go func() {
		n := 0
		for ended := false; !ended; {
			select {
			case <-done:
				ended = true // after a last look
			case <-time.After(200 * time.Millisecond):
			}
			found, _ := filepath.Glob("/proc/[0-9]*/cmdline")
			for _, path := range found {
				text, err := os.ReadFile(path)
				if err == nil {
					n++
				}
				if strings.Contains(string(text), secret) {
					t.Errorf("%s has the password", path)
				}
			}
		}
		read <- n
	}()
	var once sync.Once
	end := func() int {
		once.Do(func() { close(done) })
		n := <-read
		read <- n
		return n
	}
	t.Cleanup(func() { end() }) // in case the test ends first
	return end
}

// withoutSecret searches all files below a directory, except for those that are meant for secrets.
func withoutSecret(t *testing.T, dir, secret string) {
	t.Helper()
	read := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "secrets" {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), secret) {
			t.Errorf("%s has the password", path)
		}
		read++
		return err
	})
	if err != nil || read == 0 {
		t.Errorf("%d files of the result were searched, %v", read, err)
	}
}

// Each value of the axis secure has its own ensemble, and the costs of the connections are in one table. Sessions that resume make fewer full handshakes
// than connections.
func TestWhatSecurityCosts(t *testing.T) {
	tier.Long(t, "three ensembles, one after the other; TestCertificatesOfAnyName runs on a secured one")
	t.Parallel()
	ensembletest.NeedServers(t)
	dir := filepath.Join(t.TempDir(), "out")
	o := newTerminal(t).run("run", "quickstart", "-q", "--ensemble", "local:1", "--set", "secure=[none,tls-resumed]", "--set", "variants=predecessor", "--set", "sessions=8",
		"--set", "warmup=0s", "--set", "duration=6s", "--set", "faults=[{at: 500ms, kind: reset}]", "--out", dir)
	o.wantEnd()
	doc := result(t, dir)
	if len(doc.Cells) != 2 || len(doc.Environments) != 2 {
		t.Fatalf("%d cells on %d ensembles, want one on each of two", len(doc.Cells), len(doc.Environments))
	}
	for i, want := range []string{"none", "tls-resumed"} {
		c := doc.Cells[i]
		if c.Parameters["secure"] != want || c.Environment != i {
			t.Errorf("cell %d is secured by %v on ensemble %d, want %s", i, c.Parameters["secure"], c.Environment, want)
		}
		count := func(op string) int64 { return c.Latency[op+".service"].Count }
		if tcp, session := count("connect-tcp"), count("connect-session"); tcp < 8 || session < 8 {
			t.Errorf("%s: %d and %d times a connection was made again, want 8 or more", want, tcp, session)
		}
		if full, resumed := count("connect-tls"), count("connect-tls-resumed"); (full+resumed > 0) != (i == 1) || i == 1 && resumed == 0 {
			t.Errorf("%s: %d full handshakes of TLS, %d resumed", want, full, resumed)
		}
		if len(c.Faults) != 1 || c.Faults[0].SessionsCut == nil || *c.Faults[0].SessionsCut != 8 {
			t.Errorf("%s: the faults are %+v, want one that cut 8 clients off", want, c.Faults)
		}
	}
	if text := strings.Join(strings.Fields(o.stdout), " "); !strings.Contains(text, "predecessor secure=none reset 8 ") || !strings.Contains(text, "predecessor secure=tls-resumed reset 8 ") {
		t.Errorf("the report has no table of both:\n%s", o.stdout)
	}
	zkbench(t, "validate-result", dir).want(exitOK)
}
