package main

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
)

// component is one of CycloneDX 1.6 (cyclonedx.org/docs/1.6/json): the command, or what is compiled into it.
type component struct {
	Type       string     `json:"type"` // application or library
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	Purl       string     `json:"purl"` // github.com/package-url/purl-spec
	Properties []property `json:"properties,omitempty"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn,omitempty"`
}

func newComponent(kind, path, version string) component {
	ref := "pkg:golang/" + strings.ToLower(path) + "@" + url.QueryEscape(version)
	return component{Type: kind, Ref: ref, Name: path, Version: version, Purl: ref}
}

// sbom lists what is compiled into the binaries, as the binaries themselves say: Go's library and the modules, with their sums of go.sum. It has no serial
// number, which would be new each time.
func (r *release) sbom() []byte {
	main := newComponent("application", "github.com/zkbench/zkbench", r.tag)
	all := []component{newComponent("library", "std", strings.TrimPrefix(r.goes, "go"))}
	for _, path := range slices.Sorted(maps.Keys(r.modules)) {
		c := newComponent("library", path, r.modules[path].Version)
		c.Properties = []property{{"go.sum", r.modules[path].Sum}}
		all = append(all, c)
	}
	uses := dependency{Ref: main.Ref}
	for _, c := range all {
		uses.DependsOn = append(uses.DependsOn, c.Ref)
	}
	text, err := json.MarshalIndent(struct {
		Format       string         `json:"bomFormat"`
		Spec         string         `json:"specVersion"`
		Version      int            `json:"version"`
		Metadata     map[string]any `json:"metadata"`
		Components   []component    `json:"components"`
		Dependencies []dependency   `json:"dependencies"`
	}{"CycloneDX", "1.6", 1, map[string]any{"timestamp": r.at.Format(time.RFC3339), "component": main}, all, []dependency{uses}}, "", "  ")
	must(err)
	return append(text, '\n')
}
