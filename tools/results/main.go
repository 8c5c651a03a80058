// Command results measures what is published: it carries out the commands that results/published.txt lists, on a machine that has nothing else
// to do, and replaces the results. A run during which the machine did something else is repeated.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
)

// What else may use the CPUs, as a share of all: before and after a run, and during one. The kernel's work for the connections is in the latter.
const (
	quietShare  = 0.03
	quietFor    = 10 * time.Second
	stolenShare = 0.03
	othersShare = 0.10
)

// attempts is how often a run is carried out before a machine counts as busy.
const attempts = 3

func main() {
	published := flag.String("published", "results/published", "the `directory` of results")
	only := flag.String("only", "", "measure again only these results, by the names of their directories: `NAME,...`")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "results takes no arguments")
		os.Exit(2)
	}
	if err := again(*published, strings.FieldsFunc(*only, func(r rune) bool { return r == ',' })); err != nil {
		fmt.Fprintln(os.Stderr, "results:", err)
		os.Exit(1)
	}
}

// again measures all results of a list, or those named.
func again(published string, only []string) error {
	all, err := read(published)
	if err != nil {
		return err
	}
	chosen, err := named(all, only)
	if err != nil {
		return err
	}
	for _, r := range chosen {
		if err := r.measure(published); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	return nil
}

// result is a line of the list.
type result struct {
	name string // of its directory
	exit int    // code of the command
	args string // of zkbench, as given to a shell
}

// read returns what the list beside a directory of results names.
func read(published string) (all []result, err error) {
	file := published + ".txt"
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for i, line := range strings.Split(string(text), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		head, args, found := strings.Cut(line, ": ")
		name, exit, other := strings.Cut(head, ", exit ")
		r := result{name: name, args: args}
		if other {
			r.exit, err = strconv.Atoi(exit)
		}
		if !found || err != nil {
			return nil, fmt.Errorf("%s, line %d: must be 'NAME: ARGUMENTS' or 'NAME, exit CODE: ARGUMENTS', got %q", file, i+1, line)
		}
		all = append(all, r)
	}
	return all, nil
}

// named returns the results with these names, all if there are none.
func named(all []result, only []string) (chosen []result, err error) {
	unknown := slices.Clone(only)
	for _, r := range all {
		if len(only) == 0 || slices.Contains(only, r.name) {
			chosen = append(chosen, r)
		}
		unknown = slices.DeleteFunc(unknown, func(n string) bool { return n == r.name })
	}
	if len(unknown) > 0 {
		err = fmt.Errorf("the list of results does not name %s", strings.Join(unknown, ", "))
	}
	return chosen, err
}

// document is the part of a result that tells on what machine it was made; searches have no cells.
type document struct {
	Cells []struct {
		Name       string          `json:"name"`
		Machine    results.Machine `json:"machine"`
		Operations int64           `json:"operations"`
		Driver     *results.Driver `json:"driver"`
	} `json:"cells"`
}

// measure carries out the command of a result while the machine is quiet, and publishes what it made.
func (r result) measure(published string) error {
	made, dir := filepath.Join("results", filepath.Base(r.name)), filepath.Join(published, r.name) // made as a user would: the document has its command
	for range attempts {
		if err := quiet(); err != nil {
			return err
		}
		if _, err := os.Stat(made); err == nil {
			return fmt.Errorf("%s exists: move it away", made)
		}
		command := "zkbench " + r.args + " --quiet --out " + made
		fmt.Println(command)
		began := time.Now()
		out, err := exec.Command("sh", "-c", "exec bin/"+command).CombinedOutput()
		if ended := new(exec.ExitError); err != nil && !(errors.As(err, &ended) && ended.ExitCode() == r.exit) {
			return fmt.Errorf("%w\n%s", err, out)
		}
		text, err := os.ReadFile(filepath.Join(made, results.RunFile))
		if err != nil {
			return err
		}
		var d document
		if err := json.Unmarshal(text, &d); err != nil {
			return err
		}
		busy := cmp.Or(d.disturbed(), quiet())
		fmt.Printf("  took %v; %s\n", time.Since(began).Round(time.Second), orQuiet(busy))
		if busy != nil {
			if err := os.RemoveAll(made); err != nil {
				return err
			}
			continue
		}
		probes, _ := filepath.Glob(filepath.Join(made, "probe-*")) // the document of a search has what it found in them
		for _, old := range append(probes, dir) {
			if err := os.RemoveAll(old); err != nil {
				return err
			}
		}
		if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
			return err
		}
		return os.Rename(made, dir)
	}
	return fmt.Errorf("the machine was busy in %d attempts: come back when it is quiet", attempts)
}

func orQuiet(err error) string {
	if err != nil {
		return "measured again, because " + err.Error()
	}
	return "the machine was quiet"
}

// quiet returns an error if the machine has something else to do.
func quiet() error {
	before, err := metrics.ReadMachine()
	if err != nil {
		return err
	}
	time.Sleep(quietFor)
	after, err := metrics.ReadMachine()
	if err != nil {
		return err
	}
	used := after.Sub(before)
	all := float64(used.CPUs) * after.Answered.Sub(before.Answered).Seconds()
	if busy := 1 - used.Idle.Seconds()/all; busy > quietShare {
		return fmt.Errorf("other processes and the host take %.0f %% of the CPUs (at most %.0f %%): come back when the machine is quiet", 100*busy, 100*quietShare)
	}
	return nil
}

// disturbed returns an error that names the cell whose CPUs were used by something else the most, if that was too much.
func (d document) disturbed() (worst error) {
	most := 1.0
	for _, c := range d.Cells {
		all := c.Machine.Seconds * float64(c.Machine.CPUs)
		if all == 0 {
			continue
		}
		others := c.Machine.Others
		if c.Driver != nil {
			for _, perOp := range []*float64{c.Driver.CPUPerOp, c.Driver.ServerCPUPerOp} {
				if perOp != nil {
					others -= *perOp * 1e-6 * float64(c.Operations)
				}
			}
		}
		if by := max(c.Machine.Stolen/all/stolenShare, others/all/othersShare); by > most {
			most = by
			worst = fmt.Errorf("in cell %s the host took %.0f %% of the CPUs, and other processes %.0f %%", c.Name, 100*c.Machine.Stolen/all, 100*others/all)
		}
	}
	return worst
}
