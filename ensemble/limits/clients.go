package limits

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
)

// connections reports those of one client to one server, and the open files of a server.
func (j *judge) connections() {
	var most, files results.Limit
	limit, maxFiles, known := 0.0, 0.0, false
	for i := range j.Servers {
		in := &j.Servers[i]
		if in.Clients != nil {
			known = true
			hosts := map[string]int{}
			for _, c := range in.Clients {
				hosts[c.Host]++
			}
			for _, host := range slices.Sorted(maps.Keys(hosts)) {
				if n := float64(hosts[host]); n > most.Now {
					most = results.Limit{Name: "connections of one client", Subject: host + " to " + serverName(in), Now: n, Unit: "connections"}
					limit, most.Note = setting(in, "maxclientcnxns"), "limit: maxClientCnxns"
					if _, known := in.Settings["maxclientcnxns"]; !known {
						most.Note = "limit: maxClientCnxns, not reported"
					} else if limit == 0 {
						most.Note = "no limit: maxClientCnxns is 0"
					}
				}
			}
		}
		if in.Err == nil && !in.Lacks("zk_open_file_descriptor_count", "zk_max_file_descriptor_count") && float64(in.OpenFiles) > files.Now {
			files = results.Limit{Name: "open files", Subject: serverName(in), Now: float64(in.OpenFiles), Unit: "files"}
			maxFiles = float64(in.MaxFiles)
		}
	}
	switch {
	case most.Name != "":
		j.add(most, limit)
	case known:
		j.note("No session is connected.")
	default:
		j.unseen("connections of one client: no server answers cons")
	}
	if files.Name != "" {
		j.add(files, maxFiles)
	}
}

// timeouts reports the bounds that servers apply to the session timeouts that clients ask for.
func (j *judge) timeouts() {
	type bounds struct{ low, high float64 }
	var order []bounds
	servers, clients := map[bounds][]string{}, map[bounds][]ensemble.Connection{}
	for i := range j.Servers {
		in := &j.Servers[i]
		b := bounds{setting(in, "minsessiontimeout"), setting(in, "maxsessiontimeout")}
		if b.high == 0 {
			j.unseen("bounds of session timeouts of server %d: it does not report minSessionTimeout and maxSessionTimeout", in.Server)
			continue
		}
		if servers[b] == nil {
			order = append(order, b)
		}
		servers[b], clients[b] = append(servers[b], strconv.Itoa(in.Server)), append(clients[b], in.Clients...)
	}
	for _, b := range order {
		allow := "allow"
		if len(servers[b]) == 1 {
			allow = "allows"
		}
		text := fmt.Sprintf("Session timeouts: %s %s %s %s to %s", phrase.Noun(len(servers[b]), "server"), strings.Join(servers[b], ", "), allow,
			phrase.Seconds(b.low/1000), phrase.Seconds(b.high/1000))
		if all := clients[b]; len(all) > 0 {
			slices.SortFunc(all, func(x, y ensemble.Connection) int { return cmp.Compare(x.Timeout, y.Timeout) })
			least, most := phrase.Duration(all[0].Timeout), phrase.Duration(all[len(all)-1].Timeout)
			if text += "; the connected sessions have " + least; most != least {
				text += " to " + most
			}
			bound := 0
			for _, c := range all {
				if ms := float64(c.Timeout.Milliseconds()); ms <= b.low || ms >= b.high {
					bound++
				}
			}
			if bound > 0 {
				text += fmt.Sprintf(", %d of them one of the bounds: their clients may have asked for something else", bound)
			}
		}
		j.note("%s.", text)
	}
}
