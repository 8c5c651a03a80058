package page

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/zkbench/zkbench/ensemble/ensembletest"
)

// strict is the policy that Jenkins sets for build artifacts, and a sandbox without any permission.
const strict = "sandbox; default-src 'none'; img-src 'self'; style-src 'self'"

// measured makes the browser describe the page.
const measured = `(() => {
  const out = {overflow: document.documentElement.scrollWidth > window.innerWidth, plots: 0, empty: [], overlaps: [], outside: [],
    styled: getComputedStyle(document.body).maxWidth !== 'none', ground: getComputedStyle(document.documentElement).backgroundColor, heights: []};
  for (const figure of document.querySelectorAll('figure')) {
    out.plots++;
    const svg = figure.querySelector('svg'), all = svg.getBoundingClientRect();
    out.heights.push(Math.round(all.height));
    if (!(all.height > 60) || svg.querySelectorAll('path,rect,circle').length === 0) out.empty.push(figure.id);
    const boxes = [...svg.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()]);
    boxes.forEach(([name, a], i) => {
      if (a.left < all.left - 2 || a.right > all.right + 2 || a.top < all.top - 2 || a.bottom > all.bottom + 2) out.outside.push(figure.id + ': ' + name);
      for (const [other, b] of boxes.slice(i + 1))
        if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3)
          out.overlaps.push(figure.id + ': ' + name + ' / ' + other);
    });
  }
  return out;
})()`

type seen struct {
	Overflow, Styled         bool
	Plots                    int
	Empty, Overlaps, Outside []string
	Ground                   string
	Heights                  []int
}

// The page in a browser: no message on its console, nothing empty and nothing that overlaps, on a screen and on a phone, in light and dark mode; a
// strict Content-Security-Policy changes nothing.
func TestThePageInABrowser(t *testing.T) {
	ensembletest.Need(t, "chromium:chromium")
	dir := t.TempDir()
	if err := WriteFile(dir+"/"+File, false, append(slices.Collect(maps.Values(sources(t))), everyPlot(t)...)...); err != nil {
		t.Fatal(err)
	}
	ctx, address, console := browse(t, dir)
	look := func(path, scheme string, width int64) (s seen) {
		t.Helper()
		err := chromedp.Run(ctx, log.Enable(), runtime.Enable(), chromedp.EmulateViewport(width, 900),
			emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
			chromedp.Navigate(address+path+File), chromedp.Evaluate(measured, &s))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	grounds := map[string]string{}
	for _, width := range []int64{1280, 400} {
		for _, scheme := range []string{"light", "dark"} {
			s := look("/", scheme, width)
			grounds[scheme] = s.Ground
			if s.Plots < 20 || !s.Styled || s.Overflow || len(s.Empty)+len(s.Overlaps)+len(s.Outside) > 0 {
				t.Errorf("%d pixels, %s: %d plots, styled %v, wider than the window %v, empty %q, overlapping %q, outside %q", width, scheme, s.Plots, s.Styled, s.Overflow,
					s.Empty, s.Overlaps, s.Outside)
			}
			if under := look("/strict/", scheme, width); fmt.Sprint(under) != fmt.Sprint(s) {
				t.Errorf("%d pixels, %s: the policy changes the page: %+v, without it %+v", width, scheme, under, s)
			}
		}
	}
	if grounds["light"] == grounds["dark"] {
		t.Errorf("light and dark have the same ground %s", grounds["dark"])
	}
	if said := console(); len(said) > 0 {
		t.Errorf("the console says %q", said)
	}
}

// The site of what is published, on a screen and on a phone, under the strict policy: no page is wider than the window or says anything on the console.
func TestTheSiteInABrowser(t *testing.T) {
	ensembletest.Need(t, "chromium:chromium")
	dir, pages := site(t)
	ctx, address, console := browse(t, dir)
	for _, width := range []int64{1280, 375} {
		for page := range pages {
			var s seen
			if err := chromedp.Run(ctx, log.Enable(), runtime.Enable(), chromedp.EmulateViewport(width, 900), chromedp.Navigate(address+"/strict/"+page),
				chromedp.Evaluate(measured, &s)); err != nil {
				t.Fatal(err)
			}
			if s.Overflow || !s.Styled || len(s.Empty) > 0 {
				t.Errorf("%s, %d pixels: wider than the window %v, styled %v, empty %q", page, width, s.Overflow, s.Styled, s.Empty)
			}
		}
	}
	if said := console(); len(said) > 0 {
		t.Errorf("the console says %q", said)
	}
}

// browse serves a directory, below /strict/ with the policy, and starts a browser. console returns what its console has said so far.
func browse(t *testing.T, dir string) (ctx context.Context, address string, console func() []string) {
	t.Helper()
	files := http.FileServer(http.Dir(dir))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/strict/") {
			w.Header().Set("Content-Security-Policy", strict)
			http.StripPrefix("/strict", files).ServeHTTP(w, r)
			return
		}
		if r.URL.Path == "/favicon.ico" {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)

	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath("chromium"), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("hide-scrollbars", true))
	allocated, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(allocated)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 5*time.Minute)
	t.Cleanup(cancel)
	var mu sync.Mutex
	var messages []string
	chromedp.ListenTarget(ctx, func(event any) {
		mu.Lock()
		defer mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventConsoleAPICalled:
			messages = append(messages, fmt.Sprint(e.Type, e.Args))
		case *runtime.EventExceptionThrown:
			messages = append(messages, e.ExceptionDetails.Error())
		case *log.EventEntryAdded:
			messages = append(messages, e.Entry.Text)
		}
	})
	return ctx, server.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return messages
	}
}
