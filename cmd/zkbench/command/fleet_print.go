package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/zkbench/zkbench/bench/fleet"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/internal/program"
	"github.com/zkbench/zkbench/profiles"
)

// manifest describes what an engine starts.
type manifest struct {
	Shares      int
	What        string // description for people: "One run of profile locks"
	Profile     string
	Command     []string // of each share, without the common arguments; nil for a run of the profile
	Servers     string
	Sets        []string
	Image       string // of zkbench, for containers
	Coordinator string // image of the server that the shares meet on, which is started with them; "" if Meet exists already
	Meet        string
	Ship        string // URL that results are sent to; "" to keep them

	// For Kubernetes:
	Name         string // of the objects
	Text         string // the resolved profile
	Claim        string // of the volume for results
	CPUs, Memory string // requested for each share
	Deadline     int64  // in seconds; 0 if the length of the run is not known
}

// swarmStack returns a stack for 'docker stack deploy'. Slots are counted from 1, and templates are rendered in the environment, not in a command. In
// the mode replicated-job the slot of the first task would be the node's id.
//
// The manifests are written without text/template, which calls methods by name: that makes the linker keep every method of every type in use.
func swarmStack(m manifest) string {
	var b strings.Builder
	write := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	write(`# %s by %d shares. Deploy it with: docker stack deploy --resolve-image never -c FILE NAME
# Results are in the volume NAME_results of each node. The stack stays until 'docker stack rm NAME'; logs go with it.
version: "3.8"
services:
`, m.What, m.Shares)
	if m.Coordinator != "" {
		write(`  coordinator:
    image: %s
    deploy:
      mode: replicated
      replicas: 1
      endpoint_mode: dnsrr
      restart_policy: {condition: none}
`, quoted(m.Coordinator))
	}
	write(`  share:
    image: %s
    command: %s
    environment:
      ZKBENCH_SHARE: "{{.Task.Slot}}/%d"
      ZKBENCH_MEET: %s
`, quoted(m.Image), quoted(arguments(m)), m.Shares, quoted(m.Meet))
	if m.Ship != "" {
		write("      ZKBENCH_SHIP: %s\n", quoted(m.Ship))
	}
	write(`    volumes: ["results:/results"]
    stop_grace_period: 60s
    deploy:
      mode: replicated
      replicas: %d
      endpoint_mode: dnsrr
      restart_policy: {condition: none}
volumes:
  results: {}
`, m.Shares)
	return b.String()
}

// slurmScript returns a script for sbatch. srun starts all tasks at once; a job array does not.
func slurmScript(m manifest) string {
	ship := ""
	if m.Ship != "" {
		ship = "export ZKBENCH_SHIP=" + shellWords(m.Ship) + "\n"
	}
	return fmt.Sprintf(`#!/bin/bash
# %[1]s by %[2]d shares. Start it with: sbatch FILE
# %[3]s has to be in the PATH of every node. Results are in the directory results, from where sbatch was called.
#SBATCH --job-name=zkbench
#SBATCH --nodes=%[2]d
#SBATCH --ntasks=%[2]d
#SBATCH --ntasks-per-node=1
#SBATCH --no-requeue
export ZKBENCH_MEET=%[4]s-"$SLURM_JOB_ID"
%[5]sexec srun --nodes=%[2]d --ntasks=%[2]d --ntasks-per-node=1 --kill-on-bad-exit=0 \
  bash -c 'ZKBENCH_SHARE="index:$SLURM_PROCID/$SLURM_NTASKS" exec "$0" "$@"' %[6]s
`, m.What, m.Shares, program.Name(), shellWords(m.Meet), ship, shellWords(append([]string{program.Name()}, arguments(m)...)...))
}

// arguments returns the arguments of each share.
func arguments(m manifest) []string {
	if m.Command != nil {
		return slices.Concat(m.Command, []string{"--servers", m.Servers, "--quiet"})
	}
	if m.Text != "" {
		return []string{"run", "/profile/profile.yaml", "--servers", m.Servers, "--quiet"}
	}
	all := []string{"run", m.Profile, "--servers", m.Servers, "--quiet"}
	for _, set := range m.Sets {
		all = append(all, "--set", set)
	}
	return all
}

// quoted returns a value in YAML, written as JSON, which is a subset. Stacks, and arguments and variables of pods, expand variables, so a dollar sign is doubled.
func quoted[T string | []string](v T) string { return strings.ReplaceAll(plain(v), "$", "$$") }

// plain returns a value in YAML, for places where a dollar sign has no meaning.
func plain[T string | []string](v T) string {
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.Encode(v) // strings can always be encoded
	return strings.TrimSpace(text.String())
}

// shellWords joins words for a shell, each in quotes if it needs them.
func shellWords(words ...string) string {
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

// engines maps the name of an engine to the function that writes what starts all shares of a run.
var engines = map[string]func(manifest) string{"swarm": swarmStack, "kubernetes": kubernetesJob, "slurm": slurmScript}

// ofEngines maps each flag that only some engines take to these engines.
var ofEngines = map[string][]string{"image": {"swarm", "kubernetes"}, "coordinator-image": {"swarm", "kubernetes"}, "claim": {"kubernetes"}, "cpus": {"kubernetes"}, "memory": {"kubernetes"}}

// generatorImage returns the image that has this program as its entrypoint, or "" if it is not known.
func generatorImage() string {
	if program.Name() != program.Zkbench {
		return ""
	}
	return "zkbench/zkbench"
}

// fleet prints what starts all shares of a run.
func (a *app) fleet(ctx context.Context, args []string) error {
	f := a.flags("fleet swarm|kubernetes|slurm PROFILE|-- COMMAND... --shares N --servers HOST:PORT,...", `Prints what starts one run on many hosts: a stack for Docker Swarm, an Indexed Job for Kubernetes, or a script for Slurm's sbatch.
Instead of a profile to run, a search or a comparison of built-in profiles may follow after --.
  `+program.Name()+` fleet swarm locks --shares 4 --servers zk1:2181 | docker stack deploy --resolve-image never -c - bench
  `+program.Name()+` fleet kubernetes locks --shares 4 --servers zk1:2181 --claim results > job.yml; kubectl create -f job.yml
  `+program.Name()+` fleet slurm --shares 4 --servers zk1:2181 --meet zk://coord:2181/search -- capacity locks-open --goal 'p99<50ms' > job; sbatch job`)
	var m manifest
	f.IntVar(&m.Shares, "shares", 0, "number of processes that share the sessions")
	f.StringVar(&m.Servers, "servers", "", "host:port of the servers to load, comma separated, as the shares reach them")
	f.StringArrayVar(&m.Sets, "set", nil, "change a field of the profile, as `key=value`; may be repeated")
	f.StringVar(&m.Meet, "meet", "", "`zk://host:port/path` where the shares meet (default: a server started with them; for slurm the job's number is appended)")
	f.StringVar(&m.Ship, "ship", "", "`URL` to which each share sends its result at the end, as run --ship does")
	f.StringVar(&m.Image, "image", generatorImage(), "image whose entrypoint is "+program.Name()+", as 'make generator-image' builds zkbench's; for swarm and kubernetes")
	f.StringVar(&m.Coordinator, "coordinator-image", "zookeeper:3.8", "image of the server that the shares meet on if --meet is not given; for swarm and kubernetes")
	f.StringVar(&m.Claim, "claim", "", "`name` of the persistent volume claim for results, which all nodes can write; for kubernetes, unless --ship is given")
	f.StringVar(&m.CPUs, "cpus", "2", "CPUs that each share asks for; for kubernetes")
	f.StringVar(&m.Memory, "memory", "2Gi", "memory that each share asks for, and its limit; for kubernetes")
	if err := parse(f, args); err != nil {
		return err
	}
	engine := f.Arg(0)
	switch dash := f.ArgsLenAtDash(); {
	case dash == 1 && f.NArg() > 1:
		m.Command = f.Args()[1:]
	case f.NArg() != 2 || dash >= 0:
		return usagef("fleet takes swarm, kubernetes or slurm, and a profile, or a search or a comparison after --")
	default:
		m.Profile = f.Arg(1)
	}
	if err := a.checkManifest(f, engine, &m); err != nil {
		return err
	}
	_, err := io.WriteString(a.stdout, engines[engine](m))
	return err
}

// checkManifest checks all that the shares would check, so that a problem is reported here and not on every host, and completes m.
func (a *app) checkManifest(f *pflag.FlagSet, engine string, m *manifest) error {
	switch {
	case engines[engine] == nil:
		return usagef("fleet %s: expected swarm, kubernetes or slurm", engine)
	case m.Shares < 2 || m.Shares > fleet.MostShares:
		return usagef("--shares %d: must be 2 to %d", m.Shares, fleet.MostShares)
	case m.Meet == "" && engine == "slurm":
		return usagef("--meet is missing: Slurm starts no server for the shares to meet on (add one, such as --meet zk://host:2181/bench)")
	case m.Image == "" && engine != "slurm":
		return usagef("--image is missing: zkbench's own image does not contain %s (give an image whose entrypoint is %[1]s)", program.Name())
	case !cpuAmount.MatchString(m.CPUs):
		return usagef("--cpus %q: must be a number of CPUs, such as 2, 0.5 or 500m", m.CPUs)
	case !memAmount.MatchString(m.Memory):
		return usagef("--memory %q: must be a number of bytes, such as 2Gi or 512Mi", m.Memory)
	case m.Claim != "" && !claimName.MatchString(m.Claim):
		return usagef("--claim %q: must be the name of a persistent volume claim", m.Claim)
	}
	for _, name := range slices.Sorted(maps.Keys(ofEngines)) {
		if all := ofEngines[name]; f.Changed(name) && !slices.Contains(all, engine) {
			return usagef("--%s: only valid with %s (remove it for %s)", name, strings.Join(all, " and "), engine)
		}
	}
	if engine == "kubernetes" && m.Claim == "" && m.Ship == "" {
		return usagef("--claim or --ship is missing (results kept only in a pod are lost with it)")
	}
	if t, err := ensemble.ParseTarget(m.Servers); err != nil || len(t.Addresses) == 0 {
		return usagef("--servers %q: must be host:port of the servers to load, comma separated", m.Servers)
	}
	if m.Command != nil {
		return a.checkPlan(f, engine, m)
	}
	p, err := a.profile(m.Profile, m.Sets)
	if err != nil {
		return err
	}
	m.What = "One run of profile " + p.Name
	if err := a.setup.CheckShare(p, fleet.Share{Count: m.Shares}); err != nil {
		return usageError{err}
	}
	if len(p.Faults) > 0 {
		return usagef("%s: faults are injected by the first share into the ensemble of 'zkbench up' on its machine, which the tasks of an engine lack (start the shares by hand)",
			p.AtFault(0, "kind"))
	}
	builtin, err := a.setup.Catalogue().Builtin()
	if err != nil {
		return err
	}
	run, coordinator := runName(p.Name, time.Now()), "coordinator"
	switch {
	case engine == "swarm" && !slices.ContainsFunc(builtin, func(b profiles.Profile) bool { return b.Name == m.Profile }):
		return usagef("profile %s: the image has only the built-in profiles (choose one, and change it with --set)", m.Profile)
	case engine == "kubernetes" && (len(p.Auth) > 0 || p.TLS.Cert != "" || p.TLS.CA != "" && p.TLS.CA != profiles.SystemCA):
		return usagef("profile %s: it reads secrets or certificates of this machine, which pods do not have", m.Profile)
	case engine == "kubernetes":
		text, err := profiles.Marshal(p)
		if err != nil {
			return err
		}
		m.Profile, m.Text, m.Name = p.Name, string(text), kubernetesName(p.Name, run)
		coordinator = m.Name + "-coordinator"
		if took := a.setup.Estimate(p).Took; took > 0 {
			m.Deadline = int64((placementTimeout + 2*took).Seconds())
		}
	}
	m.meetAt(coordinator, run)
	return (&fleetFlags{share: "1/2", meet: m.Meet, onLoss: "stop", ship: m.Ship, meetTimeout: time.Minute}).check(f, m.Servers)
}

// meetAt lets the shares meet on a coordinator that is started with them, unless they meet elsewhere.
func (m *manifest) meetAt(coordinator, run string) {
	if m.Meet == "" {
		m.Meet = "zk://" + coordinator + ":2181/" + run
	} else {
		m.Coordinator = ""
	}
}

// checkPlan is checkManifest for a search or a comparison. It parses the command as each share would.
func (a *app) checkPlan(f *pflag.FlagSet, engine string, m *manifest) error {
	for _, name := range []string{"set", "ship"} {
		if f.Changed(name) {
			return usagef("--%s: not valid before a command (give it to the command itself)", name)
		}
	}
	verb, args := m.Command[0], m.Command[1:]
	run := runName(verb, time.Now())
	coordinator := "coordinator"
	if engine == "kubernetes" {
		m.Name = kubernetesName(verb, run)
		coordinator = m.Name + "-coordinator"
	}
	m.meetAt(coordinator, run)
	args = append(slices.Clip(args), "--servers", m.Servers, "--quiet", "--share", fmt.Sprintf("1/%d", m.Shares), "--meet", m.Meet)
	quiet := *a
	quiet.stdout, quiet.stderr = io.Discard, io.Discard
	ctx, set := context.Background(), quiet.flags(verb, "")
	var profiled []string
	switch verb {
	case "capacity":
		var r capacityFlags
		searches, err := quiet.readCapacity(ctx, set, &r, args)
		if err != nil {
			return err
		}
		profiled, m.What = []string{set.Arg(0)}, "A search for the capacity with profile "+searches[0].profile.Name
	case "ab":
		var r abFlags
		if _, err := quiet.readAB(ctx, set, &r, args); err != nil {
			return err
		}
		profiled, m.What = []string{r.sides[0].profile, r.sides[1].profile}, "A comparison of "+strings.Join([]string{r.sides[0].profile, r.sides[1].profile}, " with ")
	default:
		return usagef("fleet %s -- %s: expected capacity or ab", engine, verb)
	}
	builtin, err := a.setup.Catalogue().Builtin()
	if err != nil {
		return err
	}
	for _, name := range profiled {
		if engine != "slurm" && !slices.ContainsFunc(builtin, func(b profiles.Profile) bool { return b.Name == name }) {
			return usagef("profile %s: the image has only the built-in profiles (choose one, and change it with flags of the command)", name)
		}
	}
	return nil
}

// placementTimeout is how long pods may take to be placed, to pull their images and to meet, in addition to twice the time of the run.
const placementTimeout = 15 * time.Minute
