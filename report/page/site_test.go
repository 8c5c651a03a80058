package page

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results"
)

var (
	linked  = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	labeled = regexp.MustCompile(` id="([^"]*)"`)
)

// site writes a site of everything that is published, and of a comparison and a trend, and returns its pages.
func site(t *testing.T) (dir string, pages map[string]string) {
	t.Helper()
	published, err := filepath.Glob("../../results/published/*")
	if err != nil {
		t.Fatal(err)
	}
	all, err := results.ReadNamed(published...)
	if err != nil {
		t.Fatal(err)
	}
	made := sources(t)
	all = append(all, results.Named{Name: "a/comparison", Document: made["comparison"].Document}, results.Named{Name: "trend", Document: made["trend"].Document})
	dir, pages = filepath.Join(t.TempDir(), "new", "site"), map[string]string{}
	if err := WriteSite(dir, all); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(dir + "/*.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		pages[filepath.Base(file)] = string(text)
	}
	if len(pages) != len(all)+1 {
		t.Errorf("%d pages for %d documents and their index", len(pages), len(all))
	}
	return dir, pages
}

// Every link of a site leads to a file of it, and to a place that is there; every page is reached from the index, and leads back.
func TestTheLinksOfASite(t *testing.T) {
	dir, pages := site(t)
	ids := map[string]bool{}
	for page, text := range pages {
		for _, m := range labeled.FindAllStringSubmatch(text, -1) {
			ids[page+"#"+m[1]] = true
		}
	}
	reached := map[string]bool{}
	for page, text := range pages {
		for _, m := range linked.FindAllStringSubmatch(text, -1) {
			file, place, inside := strings.Cut(m[1], "#")
			if file == "" {
				file = page
			}
			if _, err := os.Stat(filepath.Join(dir, file)); err != nil || inside && !ids[file+"#"+place] {
				t.Errorf("%s links to %s, which is not there", page, m[1])
			}
			if page == IndexFile {
				reached[file] = true
			}
		}
		if page != IndexFile && !strings.Contains(text, `href="`+IndexFile+`"`) {
			t.Errorf("%s does not lead back", page)
		}
		if strings.Contains(text, "<script") || strings.Contains(text, "style=") || strings.Contains(text, "<style") {
			t.Errorf("%s has a script or a style", page)
		}
	}
	for page := range pages {
		if page != IndexFile && !reached[page] {
			t.Errorf("the index does not lead to %s", page)
		}
	}
	for _, want := range []string{`<h2 id="which-lock">Which lock?</h2>`, `href="quickstart.html#profile"`, `href="quickstart.html#command"`, `href="capacity-operations-search-1.html#command"`} {
		if !strings.Contains(pages[IndexFile], want) {
			t.Errorf("the index has no %s", want)
		}
	}
	if strings.Contains(pages[IndexFile], "capacity-ladder-servers-3.html#profile") {
		t.Error("the index links to a profile that is not there")
	}
	if !strings.Contains(pages["quickstart.html"], "variants: [naive, predecessor]") {
		t.Error("the page does not show the profile")
	}
}

func TestASiteRefusesTwoPagesOfOneName(t *testing.T) {
	d := sources(t)["capacity"].Document
	for _, names := range [][]string{{"a/b", "a-b"}, {"index"}} {
		var all []results.Named
		for _, name := range names {
			all = append(all, results.Named{Name: name, Document: d})
		}
		dir := filepath.Join(t.TempDir(), "site")
		if err := WriteSite(dir, all); err == nil || !strings.Contains(err.Error(), "rename one of the directories") {
			t.Errorf("%q: %v", names, err)
		}
		if entries, _ := os.ReadDir(dir); len(entries) > 0 {
			t.Errorf("%q: %d files were written", names, len(entries))
		}
	}
}
