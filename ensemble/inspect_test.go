package ensemble

import (
	"maps"
	"slices"
	"testing"
	"time"
)

func TestParseCons(t *testing.T) {
	got := parseCons(" /127.0.0.1:42792[0](queued=0,recved=1,sent=0)\n" +
		" /10.0.0.7:5[1](queued=0,recved=4,sent=4,sid=0x1000,lop=PING,est=1763784000000,to=30000,lcxid=0x2)\n" +
		" /0:0:0:0:0:0:0:1:6[1](queued=0,recved=4,sent=4,sid=0x1001,lop=SESS,est=1,to=4000)\n\n")
	want := []Connection{{"10.0.0.7", 30 * time.Second}, {"0:0:0:0:0:0:0:1", 4 * time.Second}}
	if !slices.Equal(got, want) {
		t.Errorf("parseCons() = %v, want %v", got, want)
	}
}

func TestParseDump(t *testing.T) {
	got := parseDump("SessionTracker dump:\nGlobal Sessions(1):\n0x1000\t30000ms\nephemeral nodes dump:\nSessions with Ephemerals (2):\n0x1000:\n\t/a\n\t/a/bc\n" +
		"0xf000000000000001:\n\t/z\nConnections dump:\nConnections Sets (1)/(1):\n1 expire at Sun Nov 22 04:03:25 UTC 2026:\n\tip: /127.0.0.1:1 sessionId: 0x1000\n")
	want := map[int64]Owned{0x1000: {2, 4 + 2 + 4 + 5}, -0xfffffffffffffff: {1, 6}}
	if !maps.Equal(got, want) {
		t.Errorf("parseDump() = %v, want %v", got, want)
	}
}

func TestParseZxidAndPairs(t *testing.T) {
	if zxid, err := parseZxid("Zookeeper version: 3.8.0\nZxid: 0x10000000c\nMode: follower\n"); err != nil || zxid != 0x10000000c {
		t.Errorf("parseZxid() = %x, %v", zxid, err)
	}
	if _, err := parseZxid("Mode: follower\n"); err == nil {
		t.Error("parseZxid() of no zxid: no error")
	}
	if got := parsePairs("Environment:\ntickTime=2000\nmax_client_cnxns=60\nmembership: \n"); got["ticktime"] != "2000" || got["maxclientcnxns"] != "60" {
		t.Errorf("parsePairs() = %v", got)
	}
}
