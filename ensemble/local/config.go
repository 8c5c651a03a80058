package local

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/internal/driver"
	"github.com/zkbench/zkbench/ensemble/internal/secrets"
	"github.com/zkbench/zkbench/ensemble/versions"
	"github.com/zkbench/zkbench/zk"
)

// Config configures the servers that Start starts. The zero value of every field is a usable default.
type Config struct {
	Servers int    // 1, 3, 5 or 7; 0 means 3
	Dir     string // for data and logs; must be empty or absent, and is kept. "" is a temporary directory, which Close removes
	// ZooKeeper is the version of the servers, or their home directory or jar: see versions.Find. "" is ZOOKEEPER_HOME, then the usual places.
	ZooKeeper string
	Java      string // the java program; "" is JAVA_HOME's, then PATH's

	// Tick is ZooKeeper's unit of time; 0 means 2 s. Session timeouts are at least two ticks unless MinSessionTimeout says
	// otherwise, and a session expires up to one tick late. Below about 200 ms, a JVM pause can cost a server its leader.
	Tick time.Duration
	// The server moves session timeouts into these bounds; 0 means 2 and 20 ticks.
	MinSessionTimeout, MaxSessionTimeout time.Duration
	// NoFsync answers writes before they are on disk. This is faster, but not what ZooKeeper promises: results say so.
	NoFsync bool
	// Heap of each server, as in Java's -Xmx; "" means 512m. If it is too low, long garbage collections show in the latency; if it is
	// too high, it takes memory from the file cache.
	Heap string
	// LogLevel of the servers: error, warn (the default), info, debug.
	LogLevel string
	// Secure is one of ensemble.SecureWays; "" means plain connections and no authentication. Keys and passwords are in the directory 'secrets'
	// of the ensemble, which only its owner may read.
	Secure string
	// AdminServer starts ZooKeeper's HTTP server on a free port. Stats uses it if four-letter words are disabled.
	AdminServer bool
	// ClientPorts asks for these ports, one per server; none means free ones.
	ClientPorts []int
	// Extra holds lines of zoo.cfg, which replace the ones written here.
	Extra map[string]string
	// JavaArgs go before the main class.
	JavaArgs []string
	// StartTimeout bounds the wait for the first write through every server; 0 means 60 s.
	StartTimeout time.Duration

	// Detach lets the servers outlive this process: see package backend, which ensures that there is only one such ensemble at a time.
	Detach bool
	// StateDir holds the state file of a detached ensemble.
	StateDir string
}

func (c Config) withDefaults() Config {
	if c.Servers == 0 {
		c.Servers = 3
	}
	if c.Tick == 0 {
		c.Tick = 2 * time.Second
	}
	if c.Heap == "" {
		c.Heap = "512m"
	}
	if c.LogLevel == "" {
		c.LogLevel = "warn"
	}
	if c.StartTimeout == 0 {
		c.StartTimeout = time.Minute
	}
	return c
}

// validate reports all problems of a configuration whose defaults are filled in.
func (c Config) validate() error {
	problems := []error{ensemble.Target{Local: c.Servers}.Check(), driver.CheckPorts(c.ClientPorts, c.Servers), secrets.Check(c.Secure)}
	if c.Tick < time.Millisecond {
		problems = append(problems, fmt.Errorf("tick %v: at least 1 ms", c.Tick))
	}
	if !slices.Contains([]string{"error", "warn", "info", "debug"}, c.LogLevel) {
		problems = append(problems, fmt.Errorf("log level %q: error, warn, info or debug", c.LogLevel))
	}
	if c.MaxSessionTimeout != 0 && c.MaxSessionTimeout < c.MinSessionTimeout {
		problems = append(problems, fmt.Errorf("session timeouts: the maximum %v is below the minimum %v", c.MaxSessionTimeout, c.MinSessionTimeout))
	}
	for key, value := range c.Extra {
		if strings.ContainsAny(key, "=\n") || strings.Contains(value, "\n") {
			problems = append(problems, fmt.Errorf("extra %q: a key and a value of one line", key))
		}
	}
	return errors.Join(problems...)
}

// possible returns an error if the server lacks what the configuration asks for.
func (c Config) possible(p versions.Program) error {
	can := zk.PowersOf(p.Version)
	if c.AdminServer {
		if err := can.Refuse("the AdminServer", zk.Need{Power: zk.PowerAdminServer}); err != nil {
			return err
		}
	}
	return can.Refuse("secure: "+c.Secure, ensemble.SecureNeeds(c.Secure)...)
}

// serverPorts are the ports of one server.
type serverPorts struct{ Client, Quorum, Election, Admin int }

// zooCfg returns the configuration file of server number id, with sorted lines. A single server gets no server lines: it then
// runs standalone, as ZooKeeper recommends.
func (c Config) zooCfg(id int, base, dir string, ports []serverPorts) string {
	own := ports[id-1]
	lines := map[string]string{
		"dataDir":                 dir,
		"clientPort":              fmt.Sprint(own.Client),
		"clientPortAddress":       "127.0.0.1",
		"tickTime":                fmt.Sprint(c.Tick.Milliseconds()),
		"initLimit":               fmt.Sprint(max(10, int(20*time.Second/c.Tick))), // a slow start is not a failed one
		"syncLimit":               "5",
		"maxClientCnxns":          "0",
		"4lw.commands.whitelist":  "*",
		"extendedTypesEnabled":    "true",
		"snapCount":               "1000000", // no snapshot in the middle of a measurement
		"autopurge.purgeInterval": "0",
		"admin.enableServer":      fmt.Sprint(c.AdminServer),
	}
	if c.Secure != "" {
		delete(lines, "clientPort")
		delete(lines, "clientPortAddress")
		maps.Copy(lines, c.secureLines(base, own))
	}
	if c.AdminServer {
		lines["admin.serverPort"] = fmt.Sprint(own.Admin)
		lines["admin.serverAddress"] = "127.0.0.1"
	}
	if c.MinSessionTimeout != 0 {
		lines["minSessionTimeout"] = fmt.Sprint(c.MinSessionTimeout.Milliseconds())
	}
	if c.MaxSessionTimeout != 0 {
		lines["maxSessionTimeout"] = fmt.Sprint(c.MaxSessionTimeout.Milliseconds())
	}
	if len(ports) > 1 {
		for i, p := range ports {
			lines[fmt.Sprintf("server.%d", i+1)] = fmt.Sprintf("127.0.0.1:%d:%d", p.Quorum, p.Election)
		}
	}
	maps.Copy(lines, c.Extra)
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(lines)) {
		fmt.Fprintf(&text, "%s=%s\n", key, lines[key])
	}
	return text.String()
}

// javaArgs returns the command line of a server after the java program. It configures the three loggers that ZooKeeper has shipped
// with (log4j 1.2 until 3.7, logback since 3.8, slf4j-simple with Debian's jar); settings of absent loggers do no harm.
func (c Config) javaArgs(p versions.Program, base, cfg string) []string {
	fsync := "yes"
	if c.NoFsync {
		fsync = "no"
	}
	args := []string{
		"-Xmx" + c.Heap,
		"-Djava.net.preferIPv4Stack=true",
		"-Dzookeeper.forceSync=" + fsync,
		"-Dlogback.configurationFile=" + filepath.Join(base, "logback.xml"),
		"-Dlog4j.configuration=file:" + filepath.Join(base, "log4j.properties"),
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=" + c.LogLevel,
		"-Dorg.slf4j.simpleLogger.showDateTime=true",
		"-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSSZ",
	}
	args = append(append(args, secrets.JavaArgs(filepath.Join(base, secrets.Dir), c.Secure)...), c.JavaArgs...)
	return append(args, "-cp", strings.Join(p.ClassPath, string(os.PathListSeparator)),
		"org.apache.zookeeper.server.quorum.QuorumPeerMain", cfg)
}

// writeFiles fills the directory: the loggers' files, and zoo.cfg, myid and data for every server.
func (c Config) writeFiles(base string, ports []serverPorts) error {
	level := strings.ToUpper(c.LogLevel)
	files := map[string]string{
		"logback.xml": `<configuration>
  <appender name="out" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%d{ISO8601} [%t] %-5p %c - %m%n</pattern></encoder>
  </appender>
  <root level="` + level + `"><appender-ref ref="out"/></root>
</configuration>
`,
		"log4j.properties": "log4j.rootLogger=" + level + `, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d{ISO8601} [%t] %-5p %c - %m%n
`,
	}
	if c.Secure != "" {
		if err := secrets.Write(filepath.Join(base, secrets.Dir), c.Secure); err != nil {
			return err
		}
	}
	for i := range ports {
		dir := serverDir(i + 1)
		if err := os.MkdirAll(filepath.Join(base, dir, "data"), 0o755); err != nil {
			return err
		}
		data := filepath.Join(base, dir, "data")
		files[filepath.Join(dir, "zoo.cfg")] = c.zooCfg(i+1, base, data, ports)
		files[filepath.Join(dir, "data", "myid")] = fmt.Sprintln(i + 1)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(base, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func serverDir(id int) string { return fmt.Sprintf("server-%d", id) }

// The names of the servers' directories, and of the log in each.
const (
	serverDirs = "server-*"
	logName    = "server.log"
)
