package drivers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Find returns the command line of a program: a path that contains a slash, or the name of a driver, such as kazoo, followed by arguments. A name
// stands for drivers/NAME/driver or drivers/NAME/driver.* here, for zkbench-driver-NAME next to the running program, where 'make drivers' builds it, or
// for one on the PATH. Its error lists the places.
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
	found, _ := filepath.Glob(here + ".*") // a file name here contains no meta-characters
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

// unusable says why a file cannot be started; "" if it can.
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
