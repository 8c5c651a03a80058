package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/spf13/pflag"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/fleet"
	"github.com/zkbench/zkbench/profiles"
)

// manifest is what an engine is asked to start.
type manifest struct {
	Shares      int
	Profile     string
	Servers     string
	Sets        []string
	Image       string // of zkbench; of containers
	Coordinator string // image of the server that the shares meet on, which is started with them; "": Meet is there
	Meet        string
}

// swarmStack is a stack for 'docker stack deploy'. Slots are counted from 1, and templates are rendered in the environment, not in a command. In
// the mode replicated-job the slot of the first task would be the node's id.
var swarmStack = template.Must(template.New("swarm").Funcs(template.FuncMap{"json": quoted, "arguments": arguments}).Parse(
	`# One run of profile {{.Profile}} by {{.Shares}} shares. Deploy it with: docker stack deploy --resolve-image never -c FILE NAME
# Results are in the volume NAME_results of each node. The stack stays until 'docker stack rm NAME'; logs go with it.
version: "3.8"
services:
{{- if .Coordinator}}
  coordinator:
    image: {{json .Coordinator}}
    deploy:
      mode: replicated
      replicas: 1
      endpoint_mode: dnsrr
      restart_policy: {condition: none}
{{- end}}
  share:
    image: {{json .Image}}
    command: {{json (arguments .)}}
    environment:
      ZKBENCH_SHARE: "{{"{{.Task.Slot}}"}}/{{.Shares}}"
      ZKBENCH_MEET: {{json .Meet}}
    volumes: ["results:/results"]
    stop_grace_period: 60s
    deploy:
      mode: replicated
      replicas: {{.Shares}}
      endpoint_mode: dnsrr
      restart_policy: {condition: none}
volumes:
  results: {}
`))

// slurmScript is a script for sbatch. srun starts all tasks at once, which an array of jobs does not.
var slurmScript = template.Must(template.New("slurm").Funcs(template.FuncMap{"shell": shellWords, "arguments": arguments}).Parse(
	`#!/bin/bash
# One run of profile {{.Profile}} by {{.Shares}} shares. Start it with: sbatch FILE
# zkbench has to be in the PATH of every node. Results are in the directory results, from where sbatch was called.
#SBATCH --job-name=zkbench
#SBATCH --nodes={{.Shares}}
#SBATCH --ntasks={{.Shares}}
#SBATCH --ntasks-per-node=1
export ZKBENCH_MEET={{shell .Meet}}-"$SLURM_JOB_ID"
exec srun --nodes={{.Shares}} --ntasks={{.Shares}} --ntasks-per-node=1 --kill-on-bad-exit=0 \
  bash -c 'ZKBENCH_SHARE="index:$SLURM_PROCID/$SLURM_NTASKS" exec zkbench "$@"' zkbench {{shell (arguments .)}}
`))

// arguments are those of each share.
func arguments(m manifest) []string {
	all := []string{"run", m.Profile, "--servers", m.Servers, "--quiet"}
	for _, set := range m.Sets {
		all = append(all, "--set", set)
	}
	return all
}

// quoted is a value in YAML, of which JSON is a part. A stack replaces variables, so a dollar is doubled.
func quoted(v any) (string, error) {
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return strings.ReplaceAll(strings.TrimSpace(text.String()), "$", "$$"), err
}

// shellWords are words for a shell, each in quotes where it needs them.
func shellWords(v any) string {
	words, several := v.([]string)
	if !several {
		words = []string{fmt.Sprint(v)}
	}
	out := make([]string, len(words))
	for i, w := range words {
		if out[i] = w; strings.ContainsFunc(w, func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:,=@%+", r))
		}) || w == "" {
			out[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}

// fleet prints what starts all shares of a run.
func (a *app) fleet(ctx context.Context, args []string) error {
	f := a.flags("fleet swarm|slurm PROFILE --shares N --servers HOST:PORT,...", `Prints what starts one run on many hosts: a stack for Docker Swarm, or a script for Slurm's sbatch.
  zkbench fleet swarm locks --shares 4 --servers zk1:2181 | docker stack deploy --resolve-image never -c - bench`)
	var m manifest
	f.IntVar(&m.Shares, "shares", 0, "how many processes share the sessions")
	f.StringVar(&m.Servers, "servers", "", "host:port of the servers to load, comma separated, as the shares reach them")
	f.StringArrayVar(&m.Sets, "set", nil, "change a field of the profile, as `key=value`; may be repeated")
	f.StringVar(&m.Meet, "meet", "", "`zk://host:port/path` where the shares meet (default for swarm: a server of the stack; for slurm the job's number is added)")
	f.StringVar(&m.Image, "image", "zkbench/zkbench", "image of zkbench, as 'make generator-image' builds it; for swarm")
	f.StringVar(&m.Coordinator, "coordinator-image", "zookeeper:3.8", "image of the server that the shares meet on, without --meet; for swarm")
	if err := parse(f, args); err != nil {
		return err
	}
	if f.NArg() != 2 {
		return usagef("fleet takes an engine, swarm or slurm, and a profile")
	}
	engine := f.Arg(0)
	m.Profile = f.Arg(1)
	if err := a.checkManifest(f, engine, &m); err != nil {
		return err
	}
	return map[string]*template.Template{"swarm": swarmStack, "slurm": slurmScript}[engine].Execute(a.stdout, m)
}

// checkManifest checks all that the shares would check, so that it is not found out on every host, and completes m.
func (a *app) checkManifest(f *pflag.FlagSet, engine string, m *manifest) error {
	switch {
	case engine != "swarm" && engine != "slurm":
		return usagef("fleet %s: expected swarm or slurm", engine)
	case m.Shares < 2 || m.Shares > fleet.MostShares:
		return usagef("--shares %d: must be 2 to %d", m.Shares, fleet.MostShares)
	case m.Meet == "" && engine == "slurm":
		return usagef("--meet is missing: Slurm starts no server that the shares could meet on (such as --meet zk://host:2181/bench)")
	}
	for _, name := range []string{"image", "coordinator-image"} {
		if f.Changed(name) && engine != "swarm" {
			return usagef("--%s is of containers: leave it out for %s", name, engine)
		}
	}
	if t, err := ensemble.ParseTarget(m.Servers); err != nil || len(t.Addresses) == 0 {
		return usagef("--servers %q: must be host:port of the servers to load, comma separated", m.Servers)
	}
	p, err := a.profile(m.Profile, m.Sets)
	if err != nil {
		return err
	}
	if err := a.setup.CheckShare(p, fleet.Share{Count: m.Shares}); err != nil {
		return usageError{err}
	}
	builtin, err := a.setup.Catalogue().Builtin()
	if err != nil {
		return err
	}
	if engine == "swarm" && !slices.ContainsFunc(builtin, func(b profiles.Profile) bool { return b.Name == m.Profile }) {
		return usagef("profile %s: the image has the built-in profiles alone (take one of them, and change it with --set)", m.Profile)
	}
	if m.Meet == "" {
		m.Meet = "zk://coordinator:2181/" + runName(p.Name, time.Now())
	} else {
		m.Coordinator = ""
	}
	return (&fleetFlags{share: "1/2", meet: m.Meet, onLoss: "stop", patience: time.Minute}).check(f, m.Servers)
}
