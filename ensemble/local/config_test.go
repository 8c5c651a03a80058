package local

import (
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/versions"
)

func TestConfigValidate(t *testing.T) {
	bad := Config{Servers: 4, Tick: 1, ClientPorts: []int{1}, LogLevel: "loud", MinSessionTimeout: 2, MaxSessionTimeout: 1,
		Extra: map[string]string{"a=b": "c"}}
	err := bad.validate()
	for _, says := range []string{"4 servers", "tick", "client ports", "loud", "maximum", `"a=b"`} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("validate() = %v, does not say %q", err, says)
		}
	}
	if err := (Config{}).withDefaults().validate(); err != nil {
		t.Errorf("validate() of the defaults = %v", err)
	}
}

func TestWhatOldServersLack(t *testing.T) {
	for _, test := range []struct {
		version string
		cfg     Config
		lacks   string
	}{
		{"3.4.13", Config{}, ""},
		{"3.4.13", Config{Secure: "tls"}, "secure: tls needs"},
		{"3.4.13", Config{AdminServer: true}, "the AdminServer needs"},
		{"3.5.0", Config{Secure: "digest"}, "secure: digest needs"},
		{"3.5.1", Config{Secure: "tls", AdminServer: true}, ""},
		{"", Config{Secure: "tls"}, ""}, // unknown: the server will say it
	} {
		err := test.cfg.possible(versions.Program{Version: test.version})
		if (err != nil) != (test.lacks != "") || err != nil && !strings.Contains(err.Error(), test.lacks) {
			t.Errorf("possible(%q, %+v) = %v, want %q", test.version, test.cfg, err, test.lacks)
		}
	}
}

func TestZooCfg(t *testing.T) {
	cfg := Config{Tick: 100 * time.Millisecond, MinSessionTimeout: time.Second, Extra: map[string]string{"syncLimit": "9", "new": "1"}}
	ports := []serverPorts{{Client: 1, Quorum: 2, Election: 3}, {Client: 4, Quorum: 5, Election: 6}}
	text := "\n" + cfg.zooCfg(2, "/base", "/data", ports)
	for _, line := range []string{"clientPort=4", "dataDir=/data", "initLimit=200", "syncLimit=9", "new=1", "minSessionTimeout=1000",
		"server.1=127.0.0.1:2:3", "server.2=127.0.0.1:5:6", "admin.enableServer=false"} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("zooCfg() lacks %q:%s", line, text)
		}
	}
	if alone := cfg.zooCfg(1, "/base", "/data", ports[:1]); strings.Contains(alone, "server.1") {
		t.Errorf("zooCfg() of one server alone has server lines:\n%s", alone)
	}
}
