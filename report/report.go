package report

import (
	"encoding/json"
	"io"
	"math"
)

// Report renders a document to a writer. All reports of this package are of this type, so that a command only chooses one. A Report depends on nothing but
// its document and may be called several times.
type Report func(io.Writer) error

// Look says what the text may use.
type Look struct {
	Width int  // columns to fit into if possible, at most 100; 0 means 100
	Box   bool // use box-drawing lines and ±, for a terminal that supports them; otherwise plain ASCII
}

// widest is the width that a ticket, a commit or half a screen can show.
const widest = 100

// width returns the width to which prose and tables are fitted.
func (l Look) width() int {
	if l.Width <= 0 {
		return widest
	}
	return min(l.Width, widest)
}

// Text renders a document for a person at a terminal.
func Text(doc Document, look Look) Report {
	return func(w io.Writer) error {
		out := &printer{w: w, width: look.width(), ascii: !look.Box}
		return out.write(doc, func(t table) error { return t.draw(w, look) })
	}
}

// Markdown renders a document for a README, a pull request or a ticket.
func Markdown(doc Document) Report {
	return func(w io.Writer) error {
		out := &printer{w: w, width: math.MaxInt, markdown: true}
		return out.write(doc, func(t table) error { return t.drawMarkdown(w) })
	}
}

// JSON renders the document itself.
func JSON(document any) Report {
	return func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(document)
	}
}
