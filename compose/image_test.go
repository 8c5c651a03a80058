package compose_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensemble/ensembletest"
)

// entrypoint runs image/docker-entrypoint.sh as a container does, with the variables and a command; who it runs as is what id -u says.
type entrypoint struct {
	dir, conf, data, bin string
	stdout, stderr       bytes.Buffer
}

func newEntrypoint(t *testing.T, id string) *entrypoint {
	t.Helper()
	dir := t.TempDir()
	e := &entrypoint{dir: dir, conf: filepath.Join(dir, "conf"), data: filepath.Join(dir, "data"), bin: filepath.Join(dir, "bin")}
	for _, d := range []string{e.conf, e.data, e.bin} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	e.stub(t, "id", "echo "+id)
	return e
}

// stub puts a program in front of the machine's.
func (e *entrypoint) stub(t *testing.T, name, script string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(e.bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

func (e *entrypoint) run(t *testing.T, variables []string, command ...string) error {
	t.Helper()
	script, err := filepath.Abs("image/docker-entrypoint.sh")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bash", append([]string{script}, command...)...)
	cmd.Dir = e.dir
	cmd.Env = append([]string{"PATH=" + e.bin + ":" + os.Getenv("PATH"), "ZOO_CONF_DIR=" + e.conf, "ZOO_DATA_DIR=" + e.data,
		"ZOO_DATA_LOG_DIR=" + e.data, "ZOO_LOG_DIR=" + e.data}, variables...)
	cmd.Stdout, cmd.Stderr = &e.stdout, &e.stderr
	return cmd.Run()
}

func (e *entrypoint) file(t *testing.T, name, want string) {
	t.Helper()
	if got := readFile(t, filepath.Join(e.dir, name)); got != want {
		t.Errorf("%s:\n%swant:\n%s", name, got, want)
	}
}

func (e *entrypoint) config(lines string) string {
	return "dataDir=" + e.data + "\ndataLogDir=" + e.data + "\n" + lines
}

func TestTheEntrypointHasTheOfficialDefaults(t *testing.T) {
	e := newEntrypoint(t, "1000")
	if err := e.run(t, nil, "cat", filepath.Join(e.conf, "zoo.cfg")); err != nil {
		t.Fatal(err, e.stderr.String())
	}
	want := e.config(`tickTime=2000
initLimit=5
syncLimit=2
autopurge.snapRetainCount=3
autopurge.purgeInterval=0
maxClientCnxns=60
standaloneEnabled=true
admin.enableServer=true
server.1=localhost:2888:3888;2181
`)
	if got := e.stdout.String(); got != want {
		t.Errorf("the command saw\n%swant\n%s", got, want)
	}
	e.file(t, "data/myid", "1\n")
}

func TestTheEntrypointHonoursTheOfficialVariables(t *testing.T) {
	e := newEntrypoint(t, "1000")
	err := e.run(t, []string{"ZOO_MY_ID=3", "ZOO_SERVERS=server.2=b:1:2;3 server.3=c:1:2:observer;3", "ZOO_TICK_TIME=1000",
		"ZOO_INIT_LIMIT=11", "ZOO_SYNC_LIMIT=6", "ZOO_AUTOPURGE_SNAPRETAINCOUNT=4", "ZOO_AUTOPURGE_PURGEINTERVAL=1", "ZOO_MAX_CLIENT_CNXNS=0",
		"ZOO_STANDALONE_ENABLED=false", "ZOO_ADMINSERVER_ENABLED=false", "ZOO_4LW_COMMANDS_WHITELIST=*",
		"ZOO_CFG_EXTRA=snapCount=7 star=* metricsProvider.httpPort=7000"}, "true")
	if err != nil {
		t.Fatal(err, e.stderr.String())
	}
	e.file(t, "conf/zoo.cfg", e.config(`tickTime=1000
initLimit=11
syncLimit=6
autopurge.snapRetainCount=4
autopurge.purgeInterval=1
maxClientCnxns=0
standaloneEnabled=false
admin.enableServer=false
4lw.commands.whitelist=*
server.2=b:1:2;3
server.3=c:1:2:observer;3
snapCount=7
star=*
`))
	e.file(t, "data/myid", "3\n")
	if said := e.stderr.String(); !strings.Contains(said, "metricsProvider.httpPort=7000 is left out") {
		t.Errorf("it said %q of the metrics provider that it does not have", said)
	}
}

func TestTheEntrypointKeepsFilesThatAreThere(t *testing.T) {
	e := newEntrypoint(t, "1000")
	for name, text := range map[string]string{"conf/zoo.cfg": "mine\n", "data/myid": "9\n"} {
		if err := os.WriteFile(filepath.Join(e.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.run(t, []string{"ZOO_MY_ID=3", "ZOO_TICK_TIME=1000"}, "true"); err != nil {
		t.Fatal(err)
	}
	e.file(t, "conf/zoo.cfg", "mine\n")
	e.file(t, "data/myid", "9\n")
}

func TestTheEntrypointBecomesTheCommand(t *testing.T) {
	e := newEntrypoint(t, "1000")
	var exit *exec.ExitError
	if err := e.run(t, nil, "sh", "-c", `echo "$1"; exit 7`, "sh", "two words"); !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("run = %v, want the command's exit code 7", err)
	}
	if got := e.stdout.String(); got != "two words\n" {
		t.Errorf("the command said %q", got)
	}
}

func TestTheEntrypointStepsDownFromRoot(t *testing.T) {
	e := newEntrypoint(t, "0")
	e.stub(t, "chown", `echo chown "$@"`)
	e.stub(t, "setpriv", `echo setpriv "$@"`)
	if err := e.run(t, nil, "server", "start"); err != nil {
		t.Fatal(err, e.stderr.String())
	}
	want := "chown -R zookeeper:zookeeper " + strings.Join([]string{e.data, e.data, e.data, e.conf}, " ") +
		"\nsetpriv --reuid=zookeeper --regid=zookeeper --init-groups server start\n"
	if got := e.stdout.String(); got != want {
		t.Errorf("as root it did\n%swant\n%s", got, want)
	}
}

// The health check of server.yml, run as Docker runs it, at another port.
func TestHealthyMeansServesAWrite(t *testing.T) {
	check := read(t, "server.yml").Services["server"].HealthCheck.Test
	healthy := func(port string) bool {
		command := check[1:]
		script := strings.ReplaceAll(command[len(command)-1], "$$", "$")
		if !strings.Contains(script, "/localhost/2181") {
			t.Fatalf("the check does not ask localhost's port 2181: %s", script)
		}
		script = strings.ReplaceAll(script, "/localhost/2181", "/127.0.0.1/"+port)
		err := exec.CommandContext(t.Context(), command[0], append(command[1:len(command)-1:len(command)-1], script)...).Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return err == nil
	}
	port := func(address string) string {
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			t.Fatal(err)
		}
		return port
	}
	const accepted = "\x00\x00\x00\x24" + "\x00\x00\x00\x00" + "\x00\x00\x27\x10" + "\x00\x00\x00\x00\x00\x00\x00\x01" + "\x00\x00\x00\x10" +
		"0123456789abcdef"
	const closed = "\x00\x00\x00\x10" + "\x00\x00\x00\x01" + "\x00\x00\x00\x00\x00\x00\x00\x01" + "\x00\x00\x00\x00"
	refused := strings.Replace(accepted, "\x27\x10", "\x00\x00", 1)
	for _, c := range []struct {
		name  string
		says  []string // to each of the requests; then the connection ends
		wants bool
	}{
		{"opens a session and closes it", []string{accepted, closed}, true},
		{"refuses the session", []string{refused, closed}, false},
		{"ends without an answer", nil, false},
		{"breaks off in its answer", []string{accepted[:20]}, false},
		{"does not commit the end of the session", []string{accepted}, false},
	} {
		if got := healthy(port(serve(t, c.says))); got != c.wants {
			t.Errorf("a server that %s is healthy: %v, want %v", c.name, got, c.wants)
		}
	}
	for _, address := range servers.Get(t, 3).Addresses() {
		if !healthy(port(address)) {
			t.Errorf("the real server at %s is not healthy", address)
		}
	}
}

// serve answers the requests of each connection with these bytes, and ends it.
func serve(t *testing.T, answers []string) (address string) {
	t.Helper()
	return ensembletest.Listen(t, func(conn net.Conn) {
		for _, answer := range slices.Concat(answers, []string{""}) {
			var size [4]byte
			if _, err := io.ReadFull(conn, size[:]); err != nil {
				return
			}
			if _, err := io.CopyN(io.Discard, conn, int64(size[3])); err != nil {
				return
			}
			if _, err := io.WriteString(conn, answer); err != nil || answer == "" {
				return
			}
		}
	})
}
