package broken

import (
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/recipes"
)

// The names of the checks, as package check gives them. They are repeated here because recipes know nothing of checks.
const (
	exclusion       = "mutual-exclusion"
	sharedExclusion = "reader-writer-exclusion"
	tokenOrder      = "token-order"
	fifo            = "fifo"
	nothingLeft     = "nothing-left"
	liveness        = "liveness"
	starvation      = "starvation"
	permitsBound    = "permits"
	capacity        = "capacity"
	leadership      = "leadership"
	terms           = "terms"
	alternation     = "alternation"
	conservation    = "conservation"
	deliveryOrder   = "delivery-order"
	priority        = "priority"
	notBefore       = "not-before"
	claims          = "claims"
	uniqueNumbers   = "unique-numbers"
	numberOrder     = "number-order"
	total           = "total"
	views           = "views"
	viewOrder       = "view-order"
	convergence     = "convergence"
	crashesSeen     = "crashes-seen"
	writtenValues   = "written-values"
	enterSafety     = "enter-safety"
	leaveSafety     = "leave-safety"
	barred          = "barred"
	agreement       = "commit-agreement"
	abortValidity   = "abort-validity"
	decisionStands  = "decision-stands"
	commitProgress  = "commit-progress"
)

// defective creates an entry. No theory predicts its costs and events.
func defective[T any](caught, name, doc string) Defect[T] {
	return Defect[T]{Caught: caught, Variant: recipes.Variant[T]{Name: "broken-" + name, Source: "a test", Doc: doc, Unsafe: true}}
}

func wakesNobody(int) (release, arrival float64) { return 0, 0 }

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

func newGUID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// number returns what the server has appended to a name, 0 if there is none.
func number(name string) int32 {
	if len(name) < 11 {
		return 0
	}
	at := len(name) - 10
	if name[at-1] == '-' && name[at] != '-' && (at < 2 || name[at-2] != '-') || name[at-1] != '-' {
		n, _ := strconv.ParseInt(name[at:], 10, 64)
		return int32(n)
	}
	n, _ := strconv.ParseInt(strings.TrimPrefix(name[at:], "-"), 10, 64)
	return int32(-n)
}

// byNumber orders names by the appended number, across the wrap of the counter.
func byNumber(a, b string) int { return int(number(a) - number(b)) }
