// Command results measures again what is published: it carries out the command of each result in results/published, on a machine that has nothing else
// to do, and replaces the result. A run during which the machine did something else is repeated.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// again measures all results in a directory, or those named.
func again(published string, only []string) error {
	dirs, err := find(published, only)
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		if err := measure(dir); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
	}
	return nil
}

// find returns the directories below published that hold a result, those named if any are.
func find(published string, only []string) (dirs []string, err error) {
	unknown := slices.Clone(only)
	err = filepath.WalkDir(published, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != results.RunFile {
			return err
		}
		dir := filepath.Dir(path)
		name := filepath.ToSlash(strings.TrimPrefix(dir, published+string(filepath.Separator)))
		if len(only) == 0 || slices.Contains(only, name) {
			dirs = append(dirs, dir)
		}
		unknown = slices.DeleteFunc(unknown, func(n string) bool { return n == name })
		return nil
	})
	if err == nil && len(unknown) > 0 {
		err = fmt.Errorf("%s has no result %s", published, strings.Join(unknown, ", "))
	}
	return dirs, err
}

// document is the part of a result that tells how it was made and on what machine; runs and searches both have it.
type document struct {
	Command []string     `json:"command"`
	Exit    results.Exit `json:"exit"`
	Cells   []struct {
		Name       string          `json:"name"`
		Machine    results.Machine `json:"machine"`
		Operations int64           `json:"operations"`
		Driver     *results.Driver `json:"driver"`
	} `json:"cells"`
}

func read(dir string) (d document, err error) {
	text, err := os.ReadFile(filepath.Join(dir, results.RunFile))
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err == nil && len(d.Command) < 2 {
		err = fmt.Errorf("%s names no command", filepath.Join(dir, results.RunFile))
	}
	return d, err
}

// measure replaces a result by one of the same command, made while the machine was quiet.
func measure(dir string) error {
	old, err := read(dir)
	if err != nil {
		return err
	}
	for range attempts {
		if err := quiet(); err != nil {
			return err
		}
		made := filepath.Clean(dir) + ".new"
		if err := os.RemoveAll(made); err != nil {
			return err
		}
		args := arguments(old.Command, made)
		fmt.Println("zkbench", strings.Join(args, " "))
		began := time.Now()
		out, err := exec.Command("bin/zkbench", args...).CombinedOutput()
		if ended := new(exec.ExitError); err != nil && !(errors.As(err, &ended) && ended.ExitCode() == old.Exit.Code) {
			return fmt.Errorf("%w\n%s", err, out)
		}
		d, err := read(made)
		if err != nil {
			return err
		}
		busy := cmp.Or(d.disturbed(), quiet())
		fmt.Printf("  took %v; %s\n", time.Since(began).Round(time.Second), orQuiet(busy))
		if busy != nil {
			continue
		}
		if err := os.RemoveAll(dir); err != nil {
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

// arguments returns those of the command, with another directory for the result, and without what is said meanwhile.
func arguments(command []string, out string) (args []string) {
	for i := 1; i < len(command); i++ {
		switch {
		case command[i] == "--out":
			i++
		case strings.HasPrefix(command[i], "--out="), command[i] == "--quiet":
		default:
			args = append(args, command[i])
		}
	}
	return append(args, "--quiet", "--out", out)
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
