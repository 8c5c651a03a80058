package profiles

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

// faulty is a profile with these faults.
func faulty(faults ...string) string {
	text := least + "duration: 10s\nfaults:\n"
	for _, f := range faults {
		text += "  - " + f + "\n"
	}
	return text
}

// values that are right, of each key of a fault.
var values = map[string]string{"at": "2s", "server": "2", "session": "3", "for": "1s", "from": "clients", "delay": "50ms", "percent": "5", "op": "create",
	"times": "2", "copies": "3", "direction": "to-server"}

// A fault of every kind with every key that it takes is read, and is the same again after it was written.
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
		p, err := Parse("p.yaml", []byte(faulty("{"+strings.Join(keys, ", ")+"}")))
		if err != nil {
			t.Errorf("%s: %v", kind.Name, err)
			continue
		}
		written, err := Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse("p.yaml", written)
		if err != nil || !reflect.DeepEqual(p.Faults, again.Faults) {
			t.Errorf("%s: read again as %+v (%v), want %+v", kind.Name, again.Faults, err, p.Faults)
		}
	}
}

func TestFaultIsRead(t *testing.T) {
	p, err := Parse("p.yaml", []byte(faulty("{at: 5s, kind: expire, session: 3}", "{at: 1s, kind: disconnect, server: follower, for: 3s}",
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
		{"kill", `7:5: faults: "kill" is not a fault; allowed is a map, such as`},
		{"{kind: kill, server: leader}", "7:5: faults: at is missing; kill needs it"},
		{"{at: 1s}", "7:5: faults: kind is missing\n"},
		{"{at: 1s, kind: kil, server: 1}", `7:20: faults: kind: "kil" is not known: did you mean kill?`},
		{"{at: 1s, kind: kill}", "7:5: faults: server is missing; kill needs it"},
		{"{at: 1s, kind: kill, server: boss}", `7:34: faults: server: "boss" is not a server; allowed is leader, follower, or a number from 1 to 9`},
		{"{at: 1s, kind: kill, server: 10}", "7:34: faults: server: 10 is not a server"},
		{"{at: 1s, kind: kill, server: 1, session: 2}", "7:37: faults: session does not belong to kill; it takes at, kind, server, for"},
		{"{at: 1, kind: kill, server: 1}", "7:10: faults: at: 1 has no unit: say '1ms'"},
		{"{at: 1s, at: 2s, kind: kill, server: 1}", "7:14: faults: at stands twice"},
		{"{at: 1s, kind: expire, sesion: 1}", `7:28: faults: a fault has no "sesion"; did you mean session?`},
		{"{at: 10s, kind: expire, session: 1}", "7:10: faults: at 10s the steady phase of 10s is over"},
		{"{at: 1s, kind: expire, session: 10}", "7:37: faults: there is no session 10 in a cell of 10 sessions; allowed is 0 to 9"},
		{"{at: 1s, kind: loss, server: 1, percent: 101}", "7:46: faults: percent: 101 is too large; allowed is a whole number from 1 to 100"},
		{"{at: 1s, kind: cut-reply, op: rename}", `7:35: faults: op: "rename" is not known`},
	} {
		_, err := Parse("p.yaml", []byte(faulty("{at: 1s, kind: pause, server: 1}", c.fault)))
		if err == nil || !strings.Contains(err.Error()+"\n", "p.yaml:"+c.want) {
			t.Errorf("%s: %v\nwant %s", c.fault, err, c.want)
		}
	}
	if _, err := Parse("p.yaml", []byte(least+"faults: {at: 1s}\n")); err == nil || !strings.Contains(err.Error(), "faults: a map is not a list") {
		t.Errorf("a map for a list: %v", err)
	}
	both := fmt.Sprint(func() error { _, err := Parse("p.yaml", []byte(faulty("{at: 1}", "{kind: kill}"))); return err }())
	for _, want := range []string{"6:10: faults: at: 1 has no unit", "6:5: faults: kind is missing", "7:5: faults: server is missing", "7:5: faults: at is missing"} {
		if !strings.Contains(both, want) {
			t.Errorf("all faults at once lack %q:\n%s", want, both)
		}
	}
}
