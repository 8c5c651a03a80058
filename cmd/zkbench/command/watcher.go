package command

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/zkbench/zkbench/bench/load"
	"github.com/zkbench/zkbench/cmd/zkbench/internal/exporter"
)

// watching holds the flags for the progress of a command that makes runs.
type watching struct {
	quiet            bool
	progress, listen string
}

func (w *watching) flags(f *pflag.FlagSet) {
	f.BoolVarP(&w.quiet, "quiet", "q", false, "no progress, same as --progress none")
	f.StringVar(&w.progress, "progress", progressAuto, "auto, json (one object per second on standard error), or none")
	f.StringVar(&w.listen, "metrics-listen", "", "serve metrics for Prometheus at this `address` while the command runs, such as 127.0.0.1:9464")
}

// check validates the flags after they are parsed.
func (w *watching) check(a *app) error {
	if w.quiet {
		w.progress = progressNone
	}
	if err := checkProgress(w.progress); err != nil {
		return err
	}
	w.quiet = w.progress == progressNone
	if _, is := a.stderr.(*messages); w.progress == progressJSON && !is {
		a.stderr = &messages{a.stderr}
	}
	return nil
}

// messages turns each line that is written to it into an object of --progress json. With that, everything that a command says is JSON.
type messages struct{ w io.Writer }

func (m *messages) Write(text []byte) (int, error) {
	p := &jsonProgress{w: m.w, now: time.Now}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" {
			p.update(load.Update{Message: line})
		}
	}
	return len(text), nil
}

// standardError returns standard error itself, for progress and for annotations that CI services read there.
func (a *app) standardError() io.Writer {
	if m, is := a.stderr.(*messages); is {
		return m.w
	}
	return a.stderr
}

// watcher shows the progress of a command on standard error and to Prometheus. Its methods are called by one goroutine at a time.
type watcher struct {
	a        *app
	kind     string
	shown    progress
	exported *exporter.Exporter // nil without --metrics-listen
	said     map[string]bool    // messages printed so far, if each is printed only once because the command makes several runs; otherwise nil
}

// watch starts to show progress. If a command makes several runs, it shows each of them on a terminal or as JSON; elsewhere the command's own messages are
// enough. It returns an error if it cannot listen at the address for metrics.
func (a *app) watch(as watching, run exporter.Run, several bool) (*watcher, error) {
	w := &watcher{a: a, kind: as.progress, shown: newProgress(a.standardError(), as.progress)}
	if several {
		w.said = map[string]bool{}
		if _, sparse := w.shown.(*lines); sparse {
			w.shown = silence{}
		}
	}
	if as.listen == "" {
		return w, nil
	}
	x, err := exporter.Listen(as.listen, run)
	if err != nil {
		return nil, err
	}
	w.exported = x
	w.tell("metrics for Prometheus at http://%s/metrics", x.Address())
	return w, nil
}

// update shows a state of a run.
func (w *watcher) update(u load.Update) {
	if w.exported != nil {
		w.exported.Update(u)
	}
	switch {
	case w.said == nil || u.Message == "" || w.kind == progressJSON:
		w.shown.update(u)
	case !w.said[u.Message]: // each run says the same about the servers
		w.said[u.Message] = true
		w.tell("%s", u.Message)
	}
}

// tell prints a line above what is drawn, or a message object as JSON.
func (w *watcher) tell(format string, args ...any) {
	if w.kind == progressJSON {
		w.shown.update(load.Update{Message: fmt.Sprintf(format, args...)})
		return
	}
	w.shown.clear()
	w.a.tell(w.kind == progressNone, format, args...)
}

func (w *watcher) close() {
	w.shown.clear()
	if w.exported != nil {
		w.exported.Close() // a scrape in progress is lost with the run
	}
}
