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

// The sources of profiles that are not files, in the places of messages. The first is the prefix of a built-in profile's.
const (
	BuiltinSource = "builtin:"
	StdinSource   = "stdin"
)

// maxSize is the maximum size of a profile; anything longer is some other file.
const maxSize = 1 << 20

// Load reads a profile: a built-in one by its name, a file by its path, or standard input by '-'. A name that contains a separator or ends in .yaml or .yml
// is a path. If a built-in profile and a file have the same name, the built-in profile is used.
func (c Catalogue) Load(nameOrPath string) (Profile, error) { return c.load(nameOrPath, os.Stdin) }

func (c Catalogue) load(nameOrPath string, stdin io.Reader) (Profile, error) {
	if nameOrPath == "-" {
		return c.parseFrom(StdinSource, stdin)
	}
	isPath := strings.ContainsAny(nameOrPath, `/\`) || strings.HasSuffix(nameOrPath, ".yaml") || strings.HasSuffix(nameOrPath, ".yml")
	names := builtinNames()
	if !isPath && slices.Contains(names, nameOrPath) {
		return c.parseBuiltin(nameOrPath)
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
		return Profile{}, noProfile{fmt.Sprintf("no built-in profile and no file named %q;%s built-in profiles are %s", nameOrPath, hint,
			strings.Join(names, ", "))}
	}
	defer f.Close()
	return c.parseFrom(nameOrPath, f)
}

// noProfile says that no profile has the given name. It wraps fs.ErrNotExist.
type noProfile struct{ message string }

func (n noProfile) Error() string { return n.message }
func (n noProfile) Unwrap() error { return fs.ErrNotExist }

func (c Catalogue) parseFrom(file string, r io.Reader) (Profile, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxSize+1))
	if err != nil {
		return Profile{}, fmt.Errorf("read profile %s: %w", file, err)
	}
	if len(data) > maxSize {
		return Profile{}, fmt.Errorf("read profile %s: must be at most 1 MiB", file)
	}
	return c.Parse(file, data)
}

// Builtin returns every built-in profile, by name.
func (c Catalogue) Builtin() ([]Profile, error) {
	var all []Profile
	for _, name := range builtinNames() {
		p, err := c.parseBuiltin(name)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// Source returns the YAML of a built-in profile with its comments, to be copied and changed.
func Source(name string) ([]byte, error) { return builtin.ReadFile(name + ".yaml") }

func (c Catalogue) parseBuiltin(name string) (Profile, error) {
	data, err := Source(name)
	if err != nil {
		return Profile{}, fmt.Errorf("read built-in profile: %w", err)
	}
	return c.Parse(BuiltinSource+name+".yaml", data)
}

// builtinNames returns the names in order. The directory is part of the binary, so reading it cannot fail.
func builtinNames() []string {
	files, _ := fs.Glob(builtin, "*.yaml")
	for i, file := range files {
		files[i] = strings.TrimSuffix(path.Base(file), ".yaml")
	}
	slices.Sort(files)
	return files
}
