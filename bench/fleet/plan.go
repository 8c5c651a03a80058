package fleet

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Plan is what all shares of a run must have in common. The first share to arrive writes it.
type Plan struct {
	Shares  int      `json:"shares"`
	Version string   `json:"version"`        // of zkbench
	Task    string   `json:"task,omitempty"` // what is done with the profile; "" if it is run once
	Seed    uint64   `json:"seed"`
	Servers []string `json:"servers"` // under test
	Profile string   `json:"profile"` // resolved, as YAML
	Root    string   `json:"root"`    // below which all sessions work
	Run     string   `json:"run"`     // name of the run
	Nonce   string   `json:"nonce"`   // unique to this meeting
}

// differences returns the lines in which the plan of this share differs from the agreed one. The name and the nonce are those of the share that arrived
// first, and so is the root if rootChosen is false.
func (p Plan) differences(standing Plan, rootChosen bool) (all []string) {
	add := func(what, there, here string) {
		if there != here {
			all = append(all, fmt.Sprintf("%s: %s in the plan, %s here", what, there, here))
		}
	}
	servers := func(p Plan) string { return strings.Join(slices.Sorted(slices.Values(p.Servers)), ",") }
	add("shares", fmt.Sprint(standing.Shares), fmt.Sprint(p.Shares))
	add("version", standing.Version, p.Version)
	add("task", cmp.Or(standing.Task, "run"), cmp.Or(p.Task, "run"))
	add("servers", servers(standing), servers(p))
	add("seed", fmt.Sprint(standing.Seed), fmt.Sprint(p.Seed))
	if rootChosen {
		add("root", standing.Root, p.Root)
	}
	there, here := lines(standing.Profile), lines(p.Profile)
	for _, l := range there {
		if !slices.Contains(here, l) {
			all = append(all, fmt.Sprintf("profile: %q only in the plan", l))
		}
	}
	for _, l := range here {
		if !slices.Contains(there, l) {
			all = append(all, fmt.Sprintf("profile: %q only here", l))
		}
	}
	return all
}

func lines(text string) []string { return strings.Split(strings.TrimSpace(text), "\n") }

// member is what a share publishes about itself.
type member struct {
	Host    string `json:"host"`
	PID     int    `json:"pid"`
	CPUs    int    `json:"cpus"`
	Version string `json:"version"`
}

func (m member) String() string { return fmt.Sprintf("%s, pid %d", m.Host, m.PID) }

// stopped is why the run was ended for all shares, and which share ended it.
type stopped struct {
	Share  int    `json:"share"`
	Host   string `json:"host"`
	Cause  Cause  `json:"cause"`
	Reason string `json:"reason"`
}

// Outcome is how a share has ended.
type Outcome struct {
	Code   int    `json:"exit_code"`
	Reason string `json:"reason,omitempty"`
	Host   string `json:"host"`
	Dir    string `json:"dir"`                     // directory of its result, on its host
	SHA256 string `json:"sha256,omitempty"`        // of run.json
	Answer string `json:"answer_sha256,omitempty"` // of the common answer that all shares of a search or a comparison end with
}

func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // none of these types can fail
	}
	return data
}
