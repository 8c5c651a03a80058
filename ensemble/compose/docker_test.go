package compose

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/internal/host"
)

// fakeDocker makes PATH a directory with programs that imitate Docker.
func fakeDocker(t *testing.T, scripts map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, script := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	t.Setenv("ZK_IMAGE", "")
}

const (
	answers  = `[ "$1" = version ] && echo 20.10.24 && exit; [ "$1" = compose ] && echo 2.24.5 && exit; `
	noImage  = `echo "Error: No such image: $4" >&2; exit 1`
	noDaemon = `echo "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?" >&2; exit 1`
	noRights = `echo "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock" >&2; exit 1`
)

// Docker's errors that a user can fix are reported with the remedy, and nothing is started.
func TestWhatDockerSaysIsTold(t *testing.T) {
	for _, c := range []struct {
		what    string
		scripts map[string]string
		kind    error
		says    []string
	}{
		{"nothing installed", nil, ensemble.ErrNoDocker, []string{"there is no program docker", "apt-get install docker.io"}},
		{"no daemon", map[string]string{"docker": noDaemon}, ensemble.ErrNoDocker, []string{"Cannot connect", "systemctl start docker"}},
		{"no permission", map[string]string{"docker": noRights}, ensemble.ErrNoDocker, []string{"permission denied", "usermod -aG docker"}},
		{"no Compose", map[string]string{"docker": `[ "$1" = version ] && echo 20.10.24 && exit; echo "unknown command" >&2; exit 1`}, ensemble.ErrNoDocker,
			[]string{"neither docker compose nor docker-compose", "apt-get install docker-compose"}},
		{"no image", map[string]string{"docker": answers + `[ "$1" = pull ] && echo "Error response from daemon: Get https://registry-1.docker.io/v2/: ` +
			`dial tcp: lookup registry-1.docker.io: no such host" >&2 && exit 1; ` + noImage}, ensemble.ErrNoImage,
			[]string{OfficialImage + " is not on this machine", "no such host", "make image", "ZK_IMAGE"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			fakeDocker(t, c.scripts)
			e, err := Start(t.Context(), Config{})
			if e != nil || !errors.Is(err, c.kind) {
				t.Fatalf("Start() = %v, %v, want %v", e, err, c.kind)
			}
			for _, says := range c.says {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("Start() = %v, want an error that says %q", err, says)
				}
			}
		})
	}
	err := explained("docker-compose up", "ERROR: for zk1  Cannot start service zk1: driver failed programming external connectivity: Bind for "+
		"127.0.0.1:2181 failed: port is already allocated", errors.New("exit status 1"))
	if !errors.Is(err, ensemble.ErrPortTaken) || !strings.Contains(err.Error(), "stop what listens there") {
		t.Errorf("a taken port is told as %v", err)
	}
}

// The image that was asked for, the official one, the built one; the official one is pulled if none is available locally.
func TestTheImageOfServers(t *testing.T) {
	has := func(images string) string {
		return answers + `[ "$1" = pull ] && exit; case " ` + images + ` " in *" $5 "*) exit 0 ;; esac; ` + noImage
	}
	for _, c := range []struct{ asked, here, want string }{
		{"", OfficialImage + " " + BuiltImage, OfficialImage},
		{"", BuiltImage, BuiltImage},
		{"", "", OfficialImage},
		{"mine:1", OfficialImage, "mine:1"},
	} {
		fakeDocker(t, map[string]string{"docker": has(c.here)})
		if got, err := (docker{}).image(t.Context(), c.asked); got != c.want || err != nil {
			t.Errorf("image(%q) with %q here = %q, %v, want %q", c.asked, c.here, got, err, c.want)
		}
	}
}

// A project is an orphan if its process on this machine has ended: never one of this process, of another machine, or of somebody else.
func TestOrphans(t *testing.T) {
	own := projectName()
	stat, err := host.ReadStat(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for project, want := range map[string]bool{
		own: false,
		strings.Replace(own, host.Here().Short(), "elsewhere", 1): false,
		"zkbench-run-" + host.Here().Short() + "-2000000000-77-1": true,
		"zkbench-run-" + host.Here().Short() + "-2000000000-0-1":  false, // it did not know its start time
		"zkbench-up-abcdefgh": false,
		"somebody":            false,
		strings.Replace(own, "-"+fmt.Sprint(stat.Start)+"-", "-1-", 1):            true, // the pid was reused
		"zkbench-run-" + host.Here().Short() + "-2000000000-99999999999999999999": false,
	} {
		if got := orphaned(project); got != want {
			t.Errorf("orphaned(%s) = %v, want %v", project, got, want)
		}
	}
}
