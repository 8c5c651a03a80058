package drivers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Find is the command line of a program: a path with a slash in it, or the name of a driver, such as kazoo, with arguments behind it. A name
// is that of drivers/NAME/driver or drivers/NAME/driver.* here, of zkbench-driver-NAME beside the running program, where 'make drivers' builds it, or
// of one on the PATH. The error says what was looked for.
func Find(program string) ([]string, error) {
	words := strings.Fields(program)
	if len(words) == 0 {
		return nil, fmt.Errorf("no program is named (expected a path or a name)")
	}
	if strings.Contains(words[0], "/") {
		if why := unusable(words[0]); why != "" {
			return nil, fmt.Errorf("%s %s", words[0], why)
		}
		return words, nil
	}
	here := filepath.Join("drivers", words[0], "driver")
	found, _ := filepath.Glob(here + ".*") // no meta-characters are in a name that is a file's
	for _, file := range append([]string{here}, found...) {
		if unusable(file) == "" {
			words[0] = "." + string(filepath.Separator) + file
			return words, nil
		}
	}
	name := "zkbench-driver-" + words[0]
	if self, err := os.Executable(); err == nil {
		if beside := filepath.Join(filepath.Dir(self), name); unusable(beside) == "" {
			words[0] = beside
			return words, nil
		}
	}
	installed, err := exec.LookPath(name)
	if err != nil {
		return nil, fmt.Errorf("no driver %s: there is neither an executable file %s or %[2]s.* nor %[3]s beside zkbench or on the PATH (in zkbench's repository "+
			"'make drivers' builds its own; of yours give the path, such as ./%[1]s)", words[0], here, name)
	}
	words[0] = installed
	return words, nil
}

// unusable says why a file cannot be started; "": it can.
func unusable(file string) string {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return "does not exist"
	case info.IsDir():
		return "is a directory (name the program in it)"
	case info.Mode()&0o111 == 0:
		return "is not executable (chmod +x)"
	}
	return ""
}
