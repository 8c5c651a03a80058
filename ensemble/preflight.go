package ensemble

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/ensemble/internal/host"
)

// Need is what a run requires of an ensemble.
type Need struct {
	Sessions       int           // number of concurrent sessions, spread evenly over the servers
	SessionTimeout time.Duration // timeout that the sessions ask for; 0 if any will do
	Proxied        bool          // the sessions go through a proxy of this process, where each needs two more connections
	Down           int           // number of servers that the run itself takes down at the same time: their sessions move to the others
}

// Problem is something that would spoil a run.
type Problem struct {
	Fatal  bool // the run cannot work, or would measure something else; otherwise it can continue with less
	What   string
	Remedy string
}

func (p Problem) String() string { return p.What + "; " + p.Remedy }

// Limits are the settings of a server that limit a run.
type Limits struct {
	MaxClientConnections                 int // per host; 0 means no limit
	MinSessionTimeout, MaxSessionTimeout time.Duration
}

// facts is what judge needs to know about one server.
type facts struct {
	Stats  ServerStats
	Down   error  // why it does not serve; nil if it serves
	Limits Limits // valid if LimitsErr is nil
	// LimitsErr says that neither conf nor the AdminServer reported the limits.
	LimitsErr error
}

// here is what judge needs to know about this process.
type here struct {
	MaxFiles, OpenFiles int64
	Err                 error // the system does not report it
}

// What zkbench opens in addition to the sessions: files and sockets of its own here; connections for questions from here to a server.
const (
	spareFiles       = 64
	spareConnections = 8
)

// examine asks every server for what judge needs.
func (p Probe) examine(ctx context.Context) []facts {
	all := make([]facts, len(p.Hosts))
	p.each(func(i int, address string) { all[i] = p.Dial.examineOne(ctx, i+1, address, p.admin(i)) })
	return all
}

func (d Dialer) examineOne(ctx context.Context, number int, address, admin string) facts {
	f := facts{Stats: ServerStats{Server: number, Address: address}}
	f.Stats.Stats, f.Stats.Err = d.askStats(ctx, address, admin)
	if errors.Is(f.Stats.Err, ErrWordsOff) {
		// It is up but does not report; a session shows whether it serves.
		try, cancel := context.WithTimeout(ctx, d.within())
		defer cancel()
		f.Down = d.probeSession(try, address)
	} else {
		f.Down = f.Stats.Err
	}
	if f.Down == nil {
		f.Limits, f.LimitsErr = d.askLimits(ctx, address, admin)
	}
	return f
}

// askLimits reads conf or, if that is disabled, the AdminServer.
func (d Dialer) askLimits(ctx context.Context, address, admin string) (Limits, error) {
	ctx, cancel := context.WithTimeout(ctx, d.within())
	defer cancel()
	text, err := d.askWord(ctx, address, "conf")
	if err == nil {
		return parseConf(text)
	}
	if !errors.Is(err, ErrWordsOff) || admin == "" {
		return Limits{}, err
	}
	values, _, adminErr := askAdmin(ctx, admin, "configuration")
	if adminErr != nil {
		return Limits{}, errors.Join(err, adminErr)
	}
	number := func(name string) (int, bool) { v, ok := values[name]; return int(v), ok }
	return limitsFrom(number, "max_client_cnxns", "min_session_timeout", "max_session_timeout")
}

// parseConf parses conf's lines, name=value.
func parseConf(text string) (Limits, error) {
	values := map[string]int{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if n, err := strconv.Atoi(value); err == nil {
			values[name] = n
		}
	}
	number := func(name string) (int, bool) { v, ok := values[name]; return v, ok }
	return limitsFrom(number, "maxClientCnxns", "minSessionTimeout", "maxSessionTimeout")
}

func limitsFrom(number func(string) (int, bool), connections, minimum, maximum string) (Limits, error) {
	c, ok1 := number(connections)
	low, ok2 := number(minimum)
	high, ok3 := number(maximum)
	if !ok1 || !ok2 || !ok3 {
		return Limits{}, fmt.Errorf("the server does not report %s, %s and %s", connections, minimum, maximum)
	}
	return Limits{c, time.Duration(low) * time.Millisecond, time.Duration(high) * time.Millisecond}, nil
}

// judge compares the needs of a run with the servers and this process. Fatal problems come first.
func judge(need Need, servers []facts, local here) []Problem {
	var serving []facts
	var problems []Problem
	for _, f := range servers {
		if f.Down == nil {
			serving = append(serving, f)
			continue
		}
		problems = append(problems, Problem{
			What:   fmt.Sprintf("server %d of %d (%s) is down: %v", f.Stats.Server, len(servers), f.Stats.Address, f.Down),
			Remedy: fmt.Sprintf("start it; otherwise the run measures an ensemble of %d with one server missing", len(servers)),
		})
	}
	problems = append(problems, judgeHere(need, local)...)
	if len(serving) == 0 {
		problems = append(problems, Problem{Fatal: true,
			What:   fmt.Sprintf("none of %d servers serves: no quorum", len(servers)),
			Remedy: fmt.Sprintf("start at least %d servers of the ensemble and look at their logs", len(servers)/2+1)})
	}
	for _, f := range serving {
		problems = append(problems, judgeServer(need, f, len(serving))...)
	}
	slices.SortStableFunc(problems, func(a, b Problem) int {
		switch {
		case a.Fatal == b.Fatal:
			return 0
		case a.Fatal:
			return -1
		}
		return 1
	})
	return problems
}

func judgeHere(need Need, local here) []Problem {
	wanted := int64(need.Sessions) + spareFiles
	if need.Proxied {
		wanted += 2 * int64(need.Sessions)
	}
	free := local.MaxFiles - local.OpenFiles
	switch {
	case local.Err != nil:
		return []Problem{{
			What:   fmt.Sprintf("how many files this process may open is unknown: %v", local.Err),
			Remedy: fmt.Sprintf("make sure that ulimit -n allows %d", wanted)}}
	case free < wanted:
		return []Problem{{Fatal: true,
			What: fmt.Sprintf("%d sessions need %d open files here, and %d are free (limit %d, open %d)",
				need.Sessions, wanted, free, local.MaxFiles, local.OpenFiles),
			Remedy: fmt.Sprintf("ulimit -n %d before zkbench, raising the hard limit in /etc/security/limits.conf if it is refused",
				wanted+local.OpenFiles)}}
	}
	return nil
}

// judgeServer checks one of the servers that serve. The sessions are spread evenly; the connection limit counts them
// per host, and zkbench is one host.
func judgeServer(need Need, f facts, serving int) []Problem {
	var problems []Problem
	name := fmt.Sprintf("server %d (%s)", f.Stats.Server, f.Stats.Address)
	left := max(serving-need.Down, 1)
	share := (need.Sessions + left - 1) / left
	wanted := share + spareConnections
	if f.Stats.Err != nil {
		problems = append(problems, Problem{
			What:   fmt.Sprintf("%s does not report its state: %v", name, f.Stats.Err),
			Remedy: "add 4lw.commands.whitelist=mntr,srvr,conf to its zoo.cfg or enable its AdminServer; without it the result has no server side"})
	} else if free := f.Stats.MaxFiles - f.Stats.OpenFiles; f.Stats.MaxFiles > 0 && free < int64(wanted) {
		problems = append(problems, Problem{Fatal: true,
			What: fmt.Sprintf("%s gets %d of %d sessions and can open %d more files (limit %d, open %d)",
				name, share, need.Sessions, free, f.Stats.MaxFiles, f.Stats.OpenFiles),
			Remedy: fmt.Sprintf("start the server with ulimit -n %d or more (LimitNOFILE of its systemd unit)", int64(wanted)+f.Stats.OpenFiles)})
	}
	if f.LimitsErr != nil {
		return append(problems, Problem{
			What:   fmt.Sprintf("%s does not report maxClientCnxns and its session timeouts: %v", name, f.LimitsErr),
			Remedy: "allow conf in 4lw.commands.whitelist, or see to these settings yourself"})
	}
	if most := f.Limits.MaxClientConnections; most > 0 && most < wanted {
		problems = append(problems, Problem{Fatal: true,
			What:   fmt.Sprintf("%s accepts %d connections from one host (maxClientCnxns), and gets %d of %d sessions", name, most, share, need.Sessions),
			Remedy: fmt.Sprintf("set maxClientCnxns=0 (no limit) or at least %d in its zoo.cfg", wanted)})
	}
	if t := need.SessionTimeout; t > 0 && (t < f.Limits.MinSessionTimeout || t > f.Limits.MaxSessionTimeout) {
		given := min(max(t, f.Limits.MinSessionTimeout), f.Limits.MaxSessionTimeout)
		problems = append(problems, Problem{Fatal: true,
			What: fmt.Sprintf("%s would change a session timeout of %v to %v", name, t, given),
			Remedy: fmt.Sprintf("ask for one between %v and %v, or change minSessionTimeout or maxSessionTimeout in its zoo.cfg",
				f.Limits.MinSessionTimeout, f.Limits.MaxSessionTimeout)})
	}
	return problems
}

// Preflight says what would spoil a run with these needs: it checks the servers and this process. Fatal problems come first.
func (p Probe) Preflight(ctx context.Context, need Need) []Problem {
	limit, open, err := host.Files()
	return judge(need, p.examine(ctx), here{MaxFiles: limit, OpenFiles: open, Err: err})
}
