package zk

import (
	"strings"
	"testing"
)

func TestPowersByName(t *testing.T) {
	for name, want := range map[string]Power{"create2": PowerCreate2, "addWatch": PowerAddWatch, "persistent watches (addWatch)": PowerAddWatch, "TLS": PowerTLS} {
		if got, found := PowerOf(name); got != want || !found {
			t.Errorf("PowerOf(%q) = %v, %v, want %v", name, got, found, want)
		}
	}
	for _, name := range []string{"", "create3", "Watch)"} {
		if got, found := PowerOf(name); found {
			t.Errorf("PowerOf(%q) = %v, want none", name, got)
		}
	}
}

func TestPowersOfVersions(t *testing.T) {
	for _, c := range []struct {
		versions []string
		first    Power // the first power that is missing
	}{
		{[]string{"3.4.13"}, PowerCreate2}, {[]string{"3.4.14-SNAPSHOT"}, PowerCreate2}, {[]string{"3.5.0-alpha"}, PowerContainers}, {[]string{"3.5.10"}, PowerAddWatch},
		{[]string{"3.6.4"}, PowerWhoAmI}, {[]string{"3.7.2"}, PowerEventZxids}, {[]string{"3.8.0"}, PowerEventZxids}, {[]string{"3.9.3"}, powers}, {[]string{"3.10.1"}, powers},
		{[]string{"4.0.0"}, powers}, {nil, powers}, {[]string{""}, powers}, {[]string{"3.9.3", "", "3.4.13", "3.8.0"}, PowerCreate2},
	} {
		p := PowersOf(c.versions...)
		for i := range powers {
			if want := i < c.first || i == PowerWords; p.Has(i) != want {
				t.Errorf("PowersOf(%q).Has(%v) = %v, want %v", c.versions, i, !want, want)
			}
		}
	}
}

func TestARefusalSaysVersionNeedAndRemedy(t *testing.T) {
	got := PowersOf("3.4.13").Refuse("variant persistent", Need{PowerEventZxids, ""}, Need{PowerAddWatch, "use variant predecessor"})
	if want := "variant persistent needs zxids in events, which ZooKeeper 3.4.13 does not have (use servers of 3.9.0 or newer)"; got == nil || got.Error() != want {
		t.Errorf("Refuse() = %v, want %s", got, want)
	}
	got = PowersOf("3.5.10").Refuse("variant persistent", Need{PowerCreate2, ""}, Need{PowerAddWatch, "use variant predecessor"})
	if want := "variant persistent needs persistent watches (addWatch), which ZooKeeper 3.5.10 does not have (use servers of 3.6.0 or newer, or use variant predecessor)"; got == nil || got.Error() != want {
		t.Errorf("Refuse() = %v, want %s", got, want)
	}
	if got := (Powers{}).Without(PowerWords).Refuse("x", Need{Power: PowerWords}); got == nil || !strings.Contains(got.Error(), "which the servers do not have (turn them on)") {
		t.Errorf("Refuse() = %v", got)
	}
	if got := PowersOf("3.9.3").Refuse("x", Need{PowerAddWatch, ""}); got != nil {
		t.Errorf("Refuse() = %v, want nil", got)
	}
	if got := (Powers{}).Refuse("x", Need{PowerAddWatch, ""}); got != nil {
		t.Errorf("Refuse() of servers of unknown version = %v, want nil", got)
	}
}

func TestPowersOfServersThatHaveOtherVersionsToo(t *testing.T) {
	for _, c := range []struct {
		on   Powers
		also []string
		want string // the version
		tls  bool
	}{
		{PowersOf("3.9.3"), nil, "3.9.3", true},
		{PowersOf("3.9.3"), []string{"", "3.8.0"}, "3.8.0", true},
		{PowersOf("3.4.13"), []string{"3.8.0"}, "3.4.13", false},
		{Powers{}, []string{"3.4.13"}, "3.4.13", false},
		{PowersOf("3.9.3").Without(PowerTLS), []string{"3.8.0"}, "3.8.0", false},
	} {
		if got := c.on.Also(c.also...); got.Version != c.want || got.Has(PowerTLS) != c.tls {
			t.Errorf("%v and %q: %s, TLS %v; want %s, %v", c.on.Version, c.also, got.Version, got.Has(PowerTLS), c.want, c.tls)
		}
	}
}

func TestVersionsThatCannotReadTheDataOfOthers(t *testing.T) {
	for _, c := range []struct {
		from, to string
		can      bool
	}{
		{"3.8.0", "3.9.3", true}, {"3.9.3", "3.8.0", true}, {"3.4.13", "3.8.0", true}, {"3.4.13", "3.4.14", true}, {"3.5.0", "3.4.14", false}, {"3.9.3", "3.4.13", false},
		{"", "3.4.13", true}, {"3.9.3", "", true},
	} {
		if err := CheckUpgrade(c.from, c.to); (err == nil) != c.can {
			t.Errorf("CheckUpgrade(%q, %q) = %v, want possible: %v", c.from, c.to, err, c.can)
		}
	}
}
