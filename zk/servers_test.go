package zk

import (
	"strings"
	"testing"
)

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
