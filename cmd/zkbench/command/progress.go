package command

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/zkbench/zkbench/bench/load"
	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/internal/phrase"
)

// progress shows the progress of a run.
type progress interface {
	// update shows a state of the run. It is called by one goroutine at a time.
	update(u load.Update)
	// clear erases what is drawn in place, so that something else can be printed. The next update draws it again.
	clear()
}

// The values of --progress.
const (
	progressAuto = "auto"
	progressJSON = "json"
	progressNone = "none"
)

// newProgress returns the progress of a kind on w. By default that is a view that is redrawn in place on a terminal, and an occasional line elsewhere.
func newProgress(w io.Writer, kind string) progress {
	switch fd, terminal := terminalOf(w); {
	case kind == progressNone:
		return silence{}
	case kind == progressJSON:
		return &jsonProgress{w: w, now: time.Now}
	case terminal && os.Getenv("TERM") != "dumb":
		return &view{w: w, now: time.Now, colour: os.Getenv("NO_COLOR") == "", size: func() (int, int) {
			width, height, err := term.GetSize(fd)
			if err != nil {
				return 80, 24
			}
			return width, height
		}}
	}
	return &lines{w: w, now: time.Now}
}

// checkProgress returns an error if a value of --progress is invalid.
func checkProgress(kind string) error {
	if kinds := []string{progressAuto, progressJSON, progressNone}; !slices.Contains(kinds, kind) {
		return usagef("--progress %q (expected %s)", kind, strings.Join(kinds, ", "))
	}
	return nil
}

// silence shows nothing.
type silence struct{}

func (silence) update(load.Update) {}
func (silence) clear()             {}

// headOf names the cell and its load.
func headOf(u load.Update) string {
	return fmt.Sprintf("cell %d of %d, %s", u.Cell, u.Cells, loadOf(u))
}

// loadOf describes the variant and its load.
func loadOf(u load.Update) string {
	text := fmt.Sprintf("%s, %s", u.Variant, phrase.Count(u.Sessions, "session"))
	if u.Load != "" {
		text += ", " + u.Load
	}
	return text
}

// phaseOf describes the phase, how much of it has passed, and when it ends.
func phaseOf(u load.Update) string {
	switch {
	case u.Phase == outcome.PhaseConnect && u.Connected > 0:
		return fmt.Sprintf("%s %d of %d", u.Phase, u.Connected, u.Sessions)
	case u.Second == nil:
		return u.Phase
	case u.FirstTurns > 0:
		return fmt.Sprintf("%s %.0f s, until %s had a first turn, up to %.0f s", u.Phase, u.Passed.Seconds(), phrase.Count(u.FirstTurns, "more session"), u.Of.Seconds())
	case u.Of == 0:
		return fmt.Sprintf("%s %.0f s, until all is done", u.Phase, u.Passed.Seconds())
	case u.Phase == outcome.PhaseDrain:
		return fmt.Sprintf("%s %.0f s, up to %.0f s", u.Phase, u.Passed.Seconds(), u.Of.Seconds())
	}
	return fmt.Sprintf("%s %.0f of %.0f s", u.Phase, u.Passed.Seconds(), u.Of.Seconds())
}

// leftOf returns how long the run still takes, or "" if that is not known.
func leftOf(u load.Update) string {
	if u.Left <= 0 {
		return ""
	}
	return phrase.Rough(u.Left) + " left"
}

// lines is the progress for a file or a CI log. It prints a line when a phase of the first cell starts, when each cell starts if there are few, every
// ten seconds at first, and then at certain shares of the run. It prints messages at once.
type lines struct {
	w         io.Writer
	now       func() time.Time
	began     time.Time
	last      time.Time // when a line was last printed
	cell      int
	phase     string
	milestone float64 // share of the run at which the next line is due
}

const (
	oftenFor   = 100 * time.Second // how long there is a line every oftenEach
	oftenEach  = 10 * time.Second
	fewCells   = 50 // up to this number, there is a line at the start of each
	everyShare = 0.05
)

// milestones are the first shares of a run at which there is a line. After them there is one at each everyShare.
var milestones = []float64{0.01, 0.02, everyShare}

func (p *lines) update(u load.Update) {
	if u.Message != "" {
		fmt.Fprintln(p.w, u.Message)
		return
	}
	now := p.now()
	if p.began.IsZero() {
		p.began, p.milestone = now, milestones[0]
	}
	due := false
	if u.Cell != p.cell || u.Phase != p.phase {
		due = u.Cell == 1 || u.Cell != p.cell && u.Cells <= fewCells
		p.cell, p.phase = u.Cell, u.Phase
	}
	if share := shareOf(u, now.Sub(p.began)); now.Sub(p.began) < oftenFor {
		due = due || now.Sub(p.last) >= oftenEach
	} else if share >= p.milestone {
		due = true
		for share >= p.milestone {
			if i := slices.Index(milestones, p.milestone); i >= 0 && i+1 < len(milestones) {
				p.milestone = milestones[i+1]
			} else {
				p.milestone += everyShare
			}
		}
	}
	if !due {
		return
	}
	p.last = now
	parts := []string{headOf(u), phaseOf(u)}
	if left := leftOf(u); left != "" {
		parts = append(parts, left)
	}
	text := strings.Join(parts, ", ")
	if u.Second != nil {
		p50, longest := "-", "-" // for a second without operations
		if u.Second.Point.Timed > 0 {
			p50, longest = phrase.Duration(u.Second.P50), phrase.Duration(u.Second.Max)
		}
		text += fmt.Sprintf(": %.1f %s/s, %s p50 %s max %s, %s, %s", u.Second.PerSecond, cmp.Or(u.Unit, "operations"), u.Timed, p50, longest,
			phrase.Count(u.Second.Events, "event"), phrase.Count(u.Second.Errors, "error"))
	}
	if u.Fleet != nil {
		text += "; all shares: " + fleetText(u.Fleet, cmp.Or(u.Unit, "operations"))
	}
	fmt.Fprintln(p.w, text)
}

func (p *lines) clear() {}

// fleetText describes the progress of all shares of a run, as they reported it to the lowest share.
func fleetText(f *load.Fleet, unit string) string {
	text := fmt.Sprintf("%s %s/s, %s, %d of %d connected", phrase.Fixed(f.PerSecond, 3), unit, phrase.Count(f.Errors, "error"), f.Connected, f.Sessions)
	if f.Worst > 0 {
		text += fmt.Sprintf(", p99 at most %s ms (share %d)", phrase.Fixed(f.Worst, 3), f.WorstOf)
	}
	if f.Heard < f.Shares {
		text += fmt.Sprintf("; %d of %d shares reporting", f.Heard, f.Shares)
	}
	return text
}

// shareOf returns how much of the run has passed: by time, or by cells if their length is not known.
func shareOf(u load.Update, passed time.Duration) float64 {
	if u.Left > 0 {
		return passed.Seconds() / (passed + u.Left).Seconds()
	}
	return float64(u.Cell-1) / float64(u.Cells)
}

// jsonProgress writes one JSON object per line: one a second, and one at once for each message.
type jsonProgress struct {
	w    io.Writer
	now  func() time.Time
	last time.Time
	done string // the phase that was last reported
}

// progressLine is an object of --progress json. Unknown values are null.
type progressLine struct {
	At        time.Time      `json:"at"`
	Message   string         `json:"message,omitempty"`
	Event     *progressEvent `json:"event,omitempty"`
	Cell      int            `json:"cell,omitempty"`
	Cells     int            `json:"cells,omitempty"`
	Name      string         `json:"name,omitempty"`
	Variant   string         `json:"variant,omitempty"`
	Sessions  int            `json:"sessions,omitempty"`
	Load      string         `json:"load,omitempty"`
	Phase     string         `json:"phase,omitempty"`
	ElapsedS  float64        `json:"elapsed_s"`
	OfS       *float64       `json:"of_s"`
	LeftS     *float64       `json:"left_s"`
	Connected *int           `json:"connected"`
	Offered   *float64       `json:"offered_per_s"`
	PerS      *float64       `json:"per_s"`
	Unit      string         `json:"unit,omitempty"`
	Timed     string         `json:"timed,omitempty"`
	P50       *float64       `json:"p50_ms"`
	P99       *float64       `json:"p99_ms"`
	Max       *float64       `json:"max_ms"`
	Waiting   *int           `json:"waiting"`
	Holding   *int           `json:"holding"`
	Holders   *int           `json:"holders"`
	Events    *int64         `json:"events"`
	Errors    *int64         `json:"errors"`
	Leader    string         `json:"leader,omitempty"`
	CPU       *float64       `json:"generator_cpu_share"`
	Fleet     *fleetLine     `json:"fleet,omitempty"`
}

// fleetLine describes all shares together. Only the lowest share reports it.
type fleetLine struct {
	Heard     int      `json:"heard"`
	Shares    int      `json:"shares"`
	Sessions  int      `json:"sessions"`
	Connected int      `json:"connected"`
	PerS      float64  `json:"per_s"`
	Errors    int64    `json:"errors"`
	P99       *float64 `json:"p99_max_ms"`
}

type progressEvent struct {
	Kind  string `json:"kind"`
	Name  string `json:"name"`
	Ended bool   `json:"ended"`
}

func (p *jsonProgress) update(u load.Update) {
	now := p.now()
	line := progressLine{At: now.UTC(), Message: u.Message, Cell: u.Cell, Cells: u.Cells, Name: u.Tag, Variant: u.Variant, Sessions: u.Sessions,
		Load: u.Load, Phase: u.Phase, ElapsedS: u.Passed.Seconds(), Unit: u.Unit, Timed: u.Timed}
	if u.Event != nil {
		line.Event = &progressEvent{u.Event.Kind, u.Event.Name, u.Event.Ended}
	}
	if phase := fmt.Sprint(u.Cell, u.Phase); u.Message == "" {
		if u.Second == nil && phase == p.done && now.Sub(p.last) < time.Second { // one line a second is enough while thousands of sessions connect
			return
		}
		p.last, p.done = now, phase
	}
	positive := func(d time.Duration) *float64 {
		if d <= 0 {
			return nil
		}
		return new(d.Seconds())
	}
	line.OfS, line.LeftS = positive(u.Of), positive(u.Left)
	if u.Phase == outcome.PhaseConnect {
		line.Connected = &u.Connected
	}
	if s := u.Second; s != nil {
		millis := func(d time.Duration) *float64 { return new(float64(d) / float64(time.Millisecond)) }
		now := s.Sessions()
		line.PerS, line.Events, line.Errors, line.Connected = &s.PerSecond, &s.Events, &s.Errors, &now.Connected
		line.Waiting, line.Holding, line.Holders, line.Leader = &now.Waiting, &now.Holding, &now.Holders, s.Leader
		if s.Point.Timed > 0 {
			line.P50, line.P99, line.Max = millis(s.P50), millis(s.P99), millis(s.Max)
		}
		if u.Rate > 0 {
			line.Offered = &u.Rate
		}
		if s.CPU >= 0 {
			line.CPU = &s.CPU
		}
	}
	if f := u.Fleet; f != nil {
		line.Fleet = &fleetLine{Heard: f.Heard, Shares: f.Shares, Sessions: f.Sessions, Connected: f.Connected, PerS: f.PerSecond, Errors: f.Errors}
		if f.Worst > 0 {
			line.Fleet.P99 = &f.Worst
		}
	}
	text, err := json.Marshal(line)
	if err != nil { // every field can be encoded
		text = []byte("{}")
	}
	fmt.Fprintf(p.w, "%s\n", text)
}

func (p *jsonProgress) clear() {}
