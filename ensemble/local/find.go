package local

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/versions"
	"github.com/zkbench/zkbench/zk"
)

// Check says why servers of a configuration cannot be started, as far as that is known without starting them; nil if they can.
func Check(cfg Config) error {
	if _, err := findJava(cfg.Java, runtime.GOOS, os.Getenv); err != nil {
		return err
	}
	p, err := versions.Find(cfg.ZooKeeper)
	if err != nil {
		return err
	}
	return cfg.possible(p)
}

// CheckUpgrade returns the version of a ZooKeeper, "" if it is unknown, or why servers of a configuration that have run another one cannot run it. from is "" for
// that of the configuration.
func CheckUpgrade(cfg Config, from, to string) (version string, err error) {
	old, err := versions.Find(cmp.Or(from, cfg.ZooKeeper))
	if err != nil {
		return "", err
	}
	p, err := cfg.upgraded(old, to)
	return p.Version, err
}

// upgraded returns the program to upgrade servers to that have run old.
func (c Config) upgraded(old versions.Program, to string) (versions.Program, error) {
	p, err := versions.Find(to)
	if err != nil {
		return p, err
	}
	if p.Source == old.Source {
		return p, fmt.Errorf("the servers run %s already (use rolling-restart, or name another version)", p.Source)
	}
	return p, errors.Join(zk.CheckUpgrade(old.Version, p.Version), c.possible(p))
}

// findJava finds the java program: the one asked for, JAVA_HOME's, or the first in PATH. A JAVA_HOME without java is an error
// rather than a reason to keep searching: the user would measure on another Java than the one named.
func findJava(asked, system string, getenv func(string) string) (string, error) {
	if system == "windows" { // has no signals, and no bits that make a file a program
		return "", errors.New("zkbench starts no servers on Windows: name some with --servers")
	}
	if asked != "" {
		if !executable(asked) {
			return "", fmt.Errorf("%w: %s is not a program", ensemble.ErrNoJava, asked)
		}
		return asked, nil
	}
	if home := getenv("JAVA_HOME"); home != "" {
		path := filepath.Join(home, "bin", "java")
		if !executable(path) {
			return "", fmt.Errorf("%w: JAVA_HOME is %s, but there is no %s; correct JAVA_HOME or unset it", ensemble.ErrNoJava, home, path)
		}
		return path, nil
	}
	for _, dir := range filepath.SplitList(getenv("PATH")) {
		if path := filepath.Join(dir, "java"); dir != "" && executable(path) {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w in PATH and JAVA_HOME is not set; install it (sudo apt-get install default-jre-headless) or set JAVA_HOME", ensemble.ErrNoJava)
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// javaVersion reads the file release that every Java since 8 has in its home; empty if it cannot be determined.
func javaVersion(java string) string {
	real, err := filepath.EvalSymlinks(java)
	if err != nil {
		return ""
	}
	release, err := os.ReadFile(filepath.Join(filepath.Dir(real), "..", "release"))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(release)) {
		if value, ok := strings.CutPrefix(line, "JAVA_VERSION="); ok {
			return strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return ""
}
