package ensemble

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// Inspection is what one server reports about itself besides its figures. A word without an answer has its error in Untold.
type Inspection struct {
	ServerStats
	Zxid     int64             // the last transaction that the server has applied; 0: not reported
	ZxidAt   time.Time         // when it was reported
	Settings map[string]string // of its zoo.cfg, by conf's names in lower case; what conf does not print is unknown
	Java     map[string]string // properties of its process, by envi's names in lower case
	Clients  []Connection      // connections with a session; nil: not reported
	Untold   map[string]error  // why a word had no answer: srvr, mntr, conf, envi, cons
}

// Connection is a client's connection, as reported by cons.
type Connection struct {
	Host    string        // IP address
	Timeout time.Duration // session timeout, as negotiated
}

// mostOfWord limits the answers to cons and dump, which grow with the sessions and their ephemeral znodes.
const mostOfWord = 64 << 20

// At returns a Probe for servers that somebody else runs, without contacting them. Unlike Connect it opens no session, which would be a transaction.
func At(addresses []string, adminPort int, dial Dialer) (Probe, error) {
	hosts, err := parseAddresses(strings.Join(addresses, ","))
	if err != nil {
		return Probe{}, err
	}
	return Probe{Hosts: hosts, Dial: dial, Admin: adminOf(hosts, adminPort)}, nil
}

// adminOf returns the AdminServer addresses of servers that all use one port; 0 means 8080, ZooKeeper's default.
func adminOf(hosts []string, port int) func(int) string {
	if port == 0 {
		port = 8080
	}
	return func(i int) string {
		host, _, _ := net.SplitHostPort(hosts[i])
		return net.JoinHostPort(host, strconv.Itoa(port))
	}
}

// Inspect asks every server concurrently with mntr, srvr, conf, envi and cons, or its AdminServer if these are disabled. It opens no session.
func (p Probe) Inspect(ctx context.Context) []Inspection {
	all := make([]Inspection, len(p.Hosts))
	for i, st := range p.Stats(ctx) {
		all[i] = Inspection{ServerStats: st, Untold: map[string]error{}}
	}
	p.each(func(i int, address string) {
		in, admin := &all[i], p.admin(i)
		if in.Err != nil {
			in.Untold["mntr"] = in.Err
		}
		if in.Zxid, in.Untold["srvr"] = p.Dial.zxidOf(ctx, address, admin); in.Untold["srvr"] == nil {
			in.ZxidAt = time.Now()
		}
		in.Settings, in.Untold["conf"] = p.Dial.pairsOf(ctx, address, "conf", admin, "configuration")
		in.Java, in.Untold["envi"] = p.Dial.pairsOf(ctx, address, "envi", admin, "environment")
		text, err := p.Dial.askBounded(ctx, address, "cons")
		if in.Untold["cons"] = err; err == nil {
			in.Clients = parseCons(text)
		}
		for word, err := range in.Untold {
			if err == nil {
				delete(in.Untold, word)
			}
		}
	})
	return all
}

// options are the names, as in conf and envi, of what Options returns: all that is the same for every server of an ensemble, wherever it runs.
var options = []string{"ticktime", "initlimit", "synclimit", "minsessiontimeout", "maxsessiontimeout", "maxclientcnxns", "clientportlistenbacklog", "java.version", "java.vendor",
	"os.memory.max"}

// Options returns settings of the first server that reports some, from conf and envi or its AdminServer; nil if none does.
func (p Probe) Options(ctx context.Context) map[string]string {
	for i, address := range p.Hosts {
		conf, _ := p.Dial.pairsOf(ctx, address, "conf", p.admin(i), "configuration")
		envi, _ := p.Dial.pairsOf(ctx, address, "envi", p.admin(i), "environment")
		var found map[string]string
		for _, name := range options {
			if value := cmp.Or(conf[name], envi[name]); value != "" {
				if found == nil {
					found = map[string]string{}
				}
				found[name] = value
			}
		}
		if found != nil {
			return found
		}
	}
	return nil
}

// Zxids asks every server for its last transaction and returns when it answered; 0 for a server that does not report it.
func (p Probe) Zxids(ctx context.Context) (zxids []int64, at []time.Time) {
	zxids, at = make([]int64, len(p.Hosts)), make([]time.Time, len(p.Hosts))
	p.each(func(i int, address string) {
		zxids[i], _ = p.Dial.zxidOf(ctx, address, p.admin(i))
		at[i] = time.Now()
	})
	return zxids, at
}

func (d Dialer) askBounded(ctx context.Context, address, word string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, d.within())
	defer cancel()
	return d.askUpTo(ctx, address, word, mostOfWord)
}

// zxidOf reads srvr, which every server answers unless it is disabled, or the AdminServer.
func (d Dialer) zxidOf(ctx context.Context, address, admin string) (int64, error) {
	text, err := d.askBounded(ctx, address, "srvr")
	if err == nil {
		return parseZxid(text)
	}
	if !errors.Is(err, ErrWordsOff) || admin == "" {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, d.within())
	defer cancel()
	object, adminErr := adminObject(ctx, admin, "server_stats")
	if adminErr != nil {
		return 0, fmt.Errorf("%w; the AdminServer failed too: %w", err, adminErr)
	}
	if stats, ok := object["server_stats"].(map[string]any); ok {
		if zxid, ok := stats["last_processed_zxid"].(float64); ok {
			return int64(zxid), nil
		}
	}
	return 0, fmt.Errorf("%w; the AdminServer at %s does not report last_processed_zxid", err, admin)
}

// parseZxid parses srvr's line 'Zxid: 0x100000002'.
func parseZxid(srvr string) (int64, error) {
	for line := range strings.Lines(srvr) {
		if number, ok := strings.CutPrefix(strings.TrimSpace(line), "Zxid: 0x"); ok {
			return strconv.ParseInt(number, 16, 64)
		}
	}
	return 0, errors.New("srvr reports no zxid")
}

// pairsOf reads a word with lines 'name=value', or the AdminServer's equivalent object. Names are converted to lower case without underscores:
// tickTime and tick_time become ticktime.
func (d Dialer) pairsOf(ctx context.Context, address, word, admin, command string) (map[string]string, error) {
	text, err := d.askBounded(ctx, address, word)
	if err == nil {
		return parsePairs(text), nil
	}
	if !errors.Is(err, ErrWordsOff) || admin == "" {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, d.within())
	defer cancel()
	values, texts, adminErr := askAdmin(ctx, admin, command)
	if adminErr != nil {
		return nil, fmt.Errorf("%w; the AdminServer failed too: %w", err, adminErr)
	}
	pairs := map[string]string{}
	for name, value := range values {
		pairs[plainName(name)] = strconv.FormatFloat(value, 'f', -1, 64)
	}
	for name, value := range texts {
		pairs[plainName(name)] = value
	}
	return pairs, nil
}

func parsePairs(text string) map[string]string {
	pairs := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			pairs[plainName(name)] = value
		}
	}
	return pairs
}

func plainName(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// parseCons parses cons's lines, such as ' /127.0.0.1:42792[1](queued=0,recved=1,sent=0,sid=0x1,...,to=30000,...)'. A connection without a
// session is asking a four-letter word.
func parseCons(text string) []Connection {
	all := []Connection{}
	for line := range strings.Lines(text) {
		from, rest, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "/"), "[")
		colon := strings.LastIndexByte(from, ':')
		if !ok || colon < 0 || !strings.Contains(rest, ",sid=") {
			continue
		}
		c := Connection{Host: from[:colon]}
		if _, after, ok := strings.Cut(rest, ",to="); ok {
			ms, _, _ := strings.Cut(after, ",")
			n, _ := strconv.Atoi(strings.TrimSuffix(ms, ")"))
			c.Timeout = time.Duration(n) * time.Millisecond
		}
		all = append(all, c)
	}
	return all
}

// Owned describes the ephemeral znodes of one session.
type Owned struct {
	Znodes int
	Bytes  int64 // size of the list of their paths in the transaction that closes the session: 4 and its length for each
}

// Ephemerals asks a server, counted from 0, with dump for the ephemeral znodes of all sessions.
func (p Probe) Ephemerals(ctx context.Context, i int) (map[int64]Owned, error) {
	text, err := p.Dial.askBounded(ctx, p.Hosts[i], "dump")
	if err != nil {
		return nil, err
	}
	return parseDump(text), nil
}

// parseDump parses the part of dump below 'Sessions with Ephemerals (N):': a line '0x1000:' for each session, and a line with a tab and the path
// for each of its znodes.
func parseDump(text string) map[int64]Owned {
	owned, session, within := map[int64]Owned{}, int64(0), false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		path, below := strings.CutPrefix(line, "\t")
		switch {
		case strings.HasPrefix(line, "Sessions with Ephemerals"):
			within = true
		case strings.HasPrefix(line, "Connections dump"):
			within = false
		case within && strings.HasPrefix(line, "0x"):
			n, _ := strconv.ParseUint(strings.TrimSuffix(line[2:], ":"), 16, 64)
			session = int64(n)
		case within && below && session != 0:
			o := owned[session]
			owned[session] = Owned{o.Znodes + 1, o.Bytes + 4 + int64(len(path))}
		}
	}
	return owned
}
