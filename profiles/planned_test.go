package profiles

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// faulty returns a profile with these faults.
func faulty(faults ...string) string {
	text := least + "duration: 10s\nfaults:\n"
	for _, f := range faults {
		text += "  - " + f + "\n"
	}
	return text
}

// values has a valid value for each key of a fault.
var values = map[string]string{"at": "2s", "server": "2", "session": "3", "for": "1s", "every": "5s", "from": "clients", "delay": "50ms", "percent": "5", "op": "create",
	"times": "2", "copies": "3", "to": "3.9.3", "direction": "to-server", "sessions": "20", "ephemerals": "3", "watchers": "2", "znodes": "5", "size": "10"}

// A fault of every kind with every key that it accepts is read, and is the same after it was written and read again.
func TestFaultsOfEveryKind(t *testing.T) {
	for _, kind := range FaultKinds() {
		if kind.Doc == "" {
			t.Errorf("%s says nothing of itself", kind.Name)
		}
		keys := []string{"kind: " + kind.Name}
		for _, key := range faultKeyNames(kind) {
			if key != "kind" {
				keys = append(keys, key+": "+values[key])
			}
		}
		text := strings.Replace(faulty("{"+strings.Join(keys, ", ")+"}"), "duration: 10s", "duration: 15s\nsession_timeout: 3s", 1) // in which a session can expire
		p, err := catalogue.Parse("p.yaml", []byte(text))
		if err != nil {
			t.Errorf("%s: %v", kind.Name, err)
			continue
		}
		written, err := Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		again, err := catalogue.Parse("p.yaml", written)
		if err != nil || !reflect.DeepEqual(p.Faults, again.Faults) {
			t.Errorf("%s: read again as %+v (%v), want %+v", kind.Name, again.Faults, err, p.Faults)
		}
	}
}

func TestFaultIsRead(t *testing.T) {
	p, err := catalogue.Parse("p.yaml", []byte(faulty("{at: 5s, kind: expire, session: 3}", "{at: 1s, kind: disconnect, server: follower, for: 3s}",
		"{at: 0s, kind: cut-reply, op: delete}")))
	if err != nil {
		t.Fatal(err)
	}
	want := []PlannedFault{
		{At: 5 * time.Second, Kind: Expire, Session: 3},
		{At: time.Second, Kind: Disconnect, Server: Follower, Session: AnySession, For: 3 * time.Second, From: FromEverybody},
		{Kind: CutReply, Session: AnySession, Op: "delete", Times: 1},
	}
	if !reflect.DeepEqual(p.Faults, want) {
		t.Errorf("read %+v, want %+v", p.Faults, want)
	}
	if got := p.AtFault(1, "server"); got != "p.yaml:7:40" {
		t.Errorf("the server of the second fault is at %s", got)
	}
	same, err := Set(p, "hold=1ms")
	if err != nil || same.AtFault(1, "") != "p.yaml:7:5" {
		t.Errorf("after --set the second fault is at %s (%v)", same.AtFault(1, ""), err)
	}
	other, err := Set(p, "faults=[{at: 1s, kind: kill, server: 1}]")
	if err != nil || other.AtFault(0, "server") != "--set faults" || len(other.Faults) != 1 {
		t.Errorf("--set faults gives %+v at %s (%v)", other.Faults, other.AtFault(0, "server"), err)
	}
	none, err := Set(p, "faults=[]")
	if err != nil || len(none.Faults) != 0 {
		t.Errorf("--set faults=[] gives %+v (%v)", none.Faults, err)
	}
}

func TestFaultsOfFaults(t *testing.T) {
	for _, c := range []struct{ fault, want string }{
		{"kill", `7:5: faults: "kill" is not a fault (expected a map, such as`},
		{"{kind: kill, server: leader}", "7:5: faults: required field at is missing (kill needs it)"},
		{"{at: 1s}", "7:5: faults: required field kind is missing\n"},
		{"{at: 1s, kind: kil, server: 1}", `7:20: faults: kind: unknown value "kil", did you mean kill?`},
		{"{at: 1s, kind: kill}", "7:5: faults: required field server is missing (kill needs it)"},
		{"{at: 1s, kind: kill, server: boss}", `7:34: faults: server: "boss" is not a server (expected leader, follower, or a number from 1 to 9`},
		{"{at: 1s, kind: kill, server: 10}", "7:34: faults: server: 10 is not a server"},
		{"{at: 1s, kind: kill, server: 1, session: 2}", "7:37: faults: session is not a field of kill (expected at, kind, server, for"},
		{"{at: 1, kind: kill, server: 1}", "7:10: faults: at: 1 has no unit, did you mean 1ms?"},
		{"{at: 1s, at: 2s, kind: kill, server: 1}", "7:14: faults: duplicate field at"},
		{"{at: 1s, kind: expire, sesion: 1}", `7:28: faults: unknown field "sesion" of a fault (did you mean session?)`},
		{"{at: 10s, kind: expire, session: 1}", "7:10: faults: at must be before the end of the steady phase, 10s after its start, got 10s"},
		{"{at: 1s, kind: expire, session: 10}", "7:37: faults: no session 10 in a cell of 10 sessions (expected 0 to 9)"},
		{"{at: 1s, kind: loss, server: 1, percent: 101}", "7:46: faults: percent: 101 is too large (expected a whole number from 1 to 100"},
		{"{at: 1s, kind: cut-reply, op: rename}", `7:35: faults: op: unknown value "rename"`},
	} {
		_, err := catalogue.Parse("p.yaml", []byte(faulty("{at: 1s, kind: pause, server: 1}", c.fault)))
		if err == nil || !strings.Contains(err.Error()+"\n", "p.yaml:"+c.want) {
			t.Errorf("%s: %v\nwant %s", c.fault, err, c.want)
		}
	}
	if _, err := catalogue.Parse("p.yaml", []byte(least+"faults: {at: 1s}\n")); err == nil || !strings.Contains(err.Error(), "faults: a map is not a list") {
		t.Errorf("a map for a list: %v", err)
	}
	both := fmt.Sprint(func() error {
		_, err := catalogue.Parse("p.yaml", []byte(faulty("{at: 1}", "{kind: kill}")))
		return err
	}())
	for _, want := range []string{"6:10: faults: at: 1 has no unit", "6:5: faults: required field kind is missing", "7:5: faults: required field server is missing", "7:5: faults: required field at is missing"} {
		if !strings.Contains(both, want) {
			t.Errorf("all faults at once lack %q:\n%s", want, both)
		}
	}
}

// A repeated fault is injected as long as the steady phase lasts, and never if that ends before its first time.
func TestFaultsThatComeAgain(t *testing.T) {
	p, err := catalogue.Parse("p.yaml", []byte(faulty("{at: 1s, kind: kill, server: leader, for: 1s, every: 4s}", "{at: 2s, kind: expire, session: 3}",
		"{at: 1h, kind: pause, server: leader, for: 1s, every: 1m}")))
	if err != nil {
		t.Fatal(err)
	}
	p.Duration = 10 * time.Second
	var got []string
	for _, f := range p.Schedule() {
		got = append(got, f.At.String()+" "+f.Kind)
	}
	if want := []string{"1s kill", "2s expire", "5s kill", "9s kill"}; !slices.Equal(got, want) {
		t.Errorf("Schedule() = %v, want %v", got, want)
	}
	for _, tt := range []struct{ fault, want string }{
		{"{at: 1s, kind: kill, server: leader, every: 4s}", "every must be longer than for, which must be given, got every 4s and for 0s"},
		{"{at: 1s, kind: kill, server: leader, for: 5s, every: 4s}", "every must be longer than for, which must be given, got every 4s and for 5s"},
		{"{at: 1s, kind: expire, session: 3, every: 1ms}", "from 1s to 168h"},
	} {
		if _, err := catalogue.Parse("p.yaml", []byte(faulty(tt.fault))); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.fault, err, tt.want)
		}
	}
	finite := "name: x\nworkload: double-barrier\nvariants: [a]\nclients: 10\nfaults:\n  - {at: 1s, kind: expire, session: 3, every: 4s}\n"
	if _, err := catalogue.Parse("p.yaml", []byte(finite)); err == nil || !strings.Contains(err.Error(), "every needs a steady phase with a duration") {
		t.Errorf("of a cell that ends with its work: %v", err)
	}
}

// The last repetition of a mass expiry counts, and a tick of the servers.
func TestSessionsThatExpireTooLate(t *testing.T) {
	p := Profile{Duration: time.Minute, SessionTimeout: 6 * time.Second}
	for _, c := range []struct {
		kind      string
		at, every int
		tick      time.Duration
		key, want string
	}{
		{MassExpiry, 52, 0, 2 * time.Second, "", ""},
		{MassExpiry, 53, 0, 2 * time.Second, "at", "lost at 53s expire up to 8s later (session_timeout and a tick of 2s)"},
		{MassExpiry, 53, 0, time.Second, "", ""},
		{MassExpiry, 4, 16, 2 * time.Second, "", ""}, // 4, 20, 36 and 52
		{MassExpiry, 5, 16, 2 * time.Second, "every", "lost at 53s expire"},
		{ReadStorm, 53, 0, 2 * time.Second, "", ""},
	} {
		f := PlannedFault{Kind: c.kind, At: time.Duration(c.at) * time.Second, Every: time.Duration(c.every) * time.Second}
		if key, got := f.ExpiresTooLate(p, c.tick); key != c.key || !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s at %d s, again after %d s, tick %v: %q, %q, want %q, %q", c.kind, c.at, c.every, c.tick, key, got, c.key, c.want)
		}
	}
}

// A storm that cannot end in time, or would arm too many watches, is rejected; sessions are needed for each repetition.
func TestStormsThatCannotBe(t *testing.T) {
	for fault, want := range map[string]string{
		"{at: 1s, kind: mass-expiry, sessions: 10}":                                          "",
		"{at: 55s, kind: mass-expiry, sessions: 10}":                                         "the sessions that are lost at 55s expire up to 6s later (session_timeout)",
		"{at: 1s, kind: mass-expiry, sessions: 10000, ephemerals: 100, watchers: 3}":         "3000000 watches (sessions x ephemerals x watchers) are more than 2000000",
		"{at: 1s, kind: mass-expiry, sessions: 1, ephemerals: 5001}":                         "expected a whole number from 1 to 5,000",
		"{at: 1s, kind: mass-expiry}":                                                        "required field sessions is missing (mass-expiry needs it)",
		"{at: 1s, kind: read-storm, sessions: 10, znodes: 2, watchers: 2}":                   "watchers is not a field of read-storm",
		"{at: 1s, kind: read-storm, sessions: 10, znodes: 2, every: 20s}":                    "",
		"{at: 1s, kind: mass-expiry, sessions: 10, ephemerals: 2, watchers: 3, every: 100s}": "",
	} {
		p, err := catalogue.Parse("p.yaml", []byte(strings.Replace(faulty(fault), "duration: 10s", "duration: 1m\nsession_timeout: 6s", 1)))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", fault, err, want)
		}
		if beside := map[bool]int{true: 13, false: 33}[strings.Contains(fault, "watchers: 3, every")]; strings.Contains(fault, "every") && p.Beside() != beside {
			t.Errorf("%s needs %d sessions, want %d", fault, p.Beside(), beside)
		}
	}
}
