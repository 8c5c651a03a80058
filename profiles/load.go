package profiles

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

//go:embed *.yaml
var builtin embed.FS

// maxSize of a profile; what is longer is some other file.
const maxSize = 1 << 20

// Load reads a profile: a built-in one by its name, a file by its path, or standard input by '-'. What has a separator or
// ends in .yaml or .yml is a path; of a built-in profile and a file with the same name the built-in wins.
func Load(nameOrPath string) (Profile, error) { return load(nameOrPath, os.Stdin) }

func load(nameOrPath string, stdin io.Reader) (Profile, error) {
	if nameOrPath == "-" {
		return parseFrom("stdin", stdin)
	}
	isPath := strings.ContainsAny(nameOrPath, `/\`) || strings.HasSuffix(nameOrPath, ".yaml") || strings.HasSuffix(nameOrPath, ".yml")
	names := builtinNames()
	if !isPath && slices.Contains(names, nameOrPath) {
		return parseBuiltin(nameOrPath)
	}
	f, err := os.Open(nameOrPath)
	if err != nil {
		if isPath || !errors.Is(err, fs.ErrNotExist) {
			return Profile{}, fmt.Errorf("read profile: %w", err)
		}
		hint := ""
		if near := Nearest(nameOrPath, names); near != "" {
			hint = " did you mean " + near + "?"
		}
		return Profile{}, fmt.Errorf("no built-in profile and no file is called %q;%s built in are %s: %w", nameOrPath, hint,
			strings.Join(names, ", "), fs.ErrNotExist)
	}
	defer f.Close()
	return parseFrom(nameOrPath, f)
}

func parseFrom(file string, r io.Reader) (Profile, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxSize+1))
	if err != nil {
		return Profile{}, fmt.Errorf("read profile %s: %w", file, err)
	}
	if len(data) > maxSize {
		return Profile{}, fmt.Errorf("read profile %s: longer than 1 MiB, which no profile is", file)
	}
	return Parse(file, data)
}

// Builtin is every built-in profile, by name.
func Builtin() ([]Profile, error) {
	var all []Profile
	for _, name := range builtinNames() {
		p, err := parseBuiltin(name)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// Source is the YAML of a built-in profile with its comments, to be copied and changed.
func Source(name string) ([]byte, error) { return builtin.ReadFile(name + ".yaml") }

func parseBuiltin(name string) (Profile, error) {
	data, err := Source(name)
	if err != nil {
		return Profile{}, fmt.Errorf("read built-in profile: %w", err)
	}
	return Parse("builtin:"+name+".yaml", data)
}

// builtinNames in order. The directory is part of the program: it cannot fail to be read.
func builtinNames() []string {
	files, _ := fs.Glob(builtin, "*.yaml")
	for i, file := range files {
		files[i] = strings.TrimSuffix(path.Base(file), ".yaml")
	}
	return files
}
