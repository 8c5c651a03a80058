package profiles

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// Type says how the values of a field are written. Implementations have no state.
type Type interface {
	allowed(f Field) string                            // in words, for messages and the reference
	read(r *reader, f Field, n *yaml.Node) (any, bool) // of one value; false if it has reported a problem
	write(value any) *yaml.Node                        // the inverse of read
	schema(f Field) object                             // JSON Schema of one value
}

// The types that a workload's own fields may have.
var (
	WholeNumber          Type = whole{}        // int
	OneOf                Type = enum{}         // string: one of Field.Words
	DurationDistribution Type = distribution{} // Distribution
	WordShares           Type = shares{}       // Shares, of Field.Words
	SizeDistribution     Type = sizes{}        // Sizes
	KeyPopularity        Type = popularity{}   // Popularity
	FilePath             Type = file{}         // string: the path of a file, as given
)

// goType returns the Go type of the values of a workload's own field.
func goType(t Type) reflect.Type {
	switch t {
	case WholeNumber:
		return reflect.TypeFor[int]()
	case DurationDistribution:
		return reflect.TypeFor[Distribution]()
	case WordShares:
		return reflect.TypeFor[Shares]()
	case SizeDistribution:
		return reflect.TypeFor[Sizes]()
	case KeyPopularity:
		return reflect.TypeFor[Popularity]()
	}
	return reflect.TypeFor[string]()
}

// The types of a single scalar.
type (
	whole    struct{} // a count
	rate     struct{} // per second
	span     struct{} // a duration
	name     struct{} // of something that is looked up or stored by this name
	recipe   struct{} // a name, or a driver
	enum     struct{} // one of the field's words
	truth    struct{}
	ensemble struct{} // local:N, compose:N or given
	server   struct{} // a version of ZooKeeper, or the path of its directory or jar
	file     struct{} // the path of a file
	prose    struct{} // a paragraph; line breaks have no meaning
)

func (whole) allowed(f Field) string {
	return "a whole number from " + grouped(f.Min) + " to " + grouped(f.Max)
}

func (k whole) read(r *reader, f Field, n *yaml.Node) (any, bool) {
	if n.Kind != yaml.ScalarNode || quoted(n) || !regexp.MustCompile(`^-?[0-9]+$`).MatchString(n.Value) {
		return nil, r.wrong(f, n, shown(n)+" is not a whole number")
	}
	u, err := strconv.ParseUint(n.Value, 10, 64)
	if v, _ := strconv.ParseFloat(n.Value, 64); v < f.Min {
		return nil, r.wrong(f, n, n.Value+" is too small")
	} else if v > f.Max || err != nil && v > 0 {
		return nil, r.wrong(f, n, n.Value+" is too large")
	}
	return u, true
}

func (whole) write(value any) *yaml.Node { return scalar("!!int", fmt.Sprint(value)) }

func (whole) schema(f Field) object {
	return object{"type": "integer", "minimum": uint64(f.Min), "maximum": bound(f.Max)}
}

// bound returns a maximum as an integer: the float64 nearest to the largest uint64 is one more than it.
func bound(v float64) uint64 {
	if v >= math.MaxUint64 {
		return math.MaxUint64
	}
	return uint64(v)
}

// grouped returns a whole number with a comma between thousands.
func grouped(v float64) string {
	s := strconv.FormatUint(bound(v), 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func (rate) allowed(f Field) string {
	return fmt.Sprintf("a rate from %v/s to %.0f/s, such as 200/s, 12000/min, 5/h, or 200 for 200/s", f.Min, f.Max)
}

func (k rate) read(r *reader, f Field, n *yaml.Node) (any, bool) {
	if n.Kind != yaml.ScalarNode {
		return nil, r.wrong(f, n, shown(n)+" is not a rate")
	}
	number, unit, _ := strings.Cut(n.Value, "/")
	per, known := map[string]float64{"": 1, "s": 1, "min": 60, "h": 3600}[strings.TrimSpace(unit)]
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	switch {
	case err != nil || !isDecimal(number):
		return nil, r.wrong(f, n, shown(n)+" is not a rate")
	case !known:
		return nil, r.wrong(f, n, fmt.Sprintf("%q is not a unit of time", unit))
	case v/per < f.Min:
		return nil, r.wrong(f, n, n.Value+" is too small")
	case v/per > f.Max:
		return nil, r.wrong(f, n, n.Value+" is too large")
	}
	return v / per, true
}

// isDecimal rejects what ParseFloat accepts in addition to decimal numbers: NaN, Inf, hexadecimal.
func isDecimal(s string) bool { return !strings.ContainsAny(s, "xXnNiI_") }

func (rate) write(value any) *yaml.Node {
	return scalar("!!str", strconv.FormatFloat(value.(float64), 'f', -1, 64)+"/s")
}

func (rate) schema(f Field) object {
	return object{"anyOf": []any{
		object{"type": "number", "minimum": f.Min, "maximum": f.Max},
		object{"type": "string", "pattern": `^[0-9]+(\.[0-9]+)? */ *(s|min|h)$`},
	}}
}

// timePattern matches what time.ParseDuration accepts without a sign: one or more numbers with units.
const timePattern = `([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+`

func (span) allowed(f Field) string {
	return fmt.Sprintf("a duration with its unit from %s to %s, such as 5ms, 1.5s or 1m30s", short(f.Min), short(f.Max))
}

// short formats a bound without the zero minutes and seconds that Duration.String adds.
func short(ns float64) string {
	s := time.Duration(ns).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func (k span) read(r *reader, f Field, n *yaml.Node) (any, bool) {
	if n.Kind != yaml.ScalarNode {
		return nil, r.wrong(f, n, shown(n)+" is not a duration")
	}
	d, err := time.ParseDuration(n.Value)
	if _, number := strconv.ParseFloat(n.Value, 64); number == nil && isDecimal(n.Value) {
		return nil, r.wrong(f, n, fmt.Sprintf("%s has no unit, did you mean %sms?", n.Value, n.Value))
	}
	switch {
	case err != nil:
		return nil, r.wrong(f, n, shown(n)+" is not a duration")
	case float64(d) < f.Min:
		return nil, r.wrong(f, n, n.Value+" is too short")
	case float64(d) > f.Max:
		return nil, r.wrong(f, n, n.Value+" is too long")
	}
	return d, true
}

func (span) write(value any) *yaml.Node { return scalar("!!str", value.(time.Duration).String()) }

func (span) schema(Field) object { return object{"type": "string", "pattern": "^" + timePattern + "$"} }

// namePattern keeps a name safe as part of a path, of a znode and of a tag in a log.
const namePattern = `^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$`

// IsName reports whether a profile can use s as the name of a variant.
func IsName(s string) bool { return regexp.MustCompile(namePattern).MatchString(s) }

func (name) allowed(Field) string {
	return "a name of at most 64 letters, digits, '.', '_', '+' and '-', starting with a letter or digit"
}

func (k name) read(r *reader, f Field, n *yaml.Node) (any, bool) {
	if n.Kind != yaml.ScalarNode || !regexp.MustCompile(namePattern).MatchString(n.Value) {
		if _, last, found := strings.Cut(n.Value, "/"); found && regexp.MustCompile(namePattern).MatchString(last) && f.Key == "variants" {
			return nil, r.fault(n, fmt.Sprintf("%s: %s is not a name, did you mean %s?", f.Key, shown(n), last))
		}
		return nil, r.wrong(f, n, shown(n)+" is not a name")
	}
	return n.Value, true
}

func (name) write(value any) *yaml.Node { return scalar("!!str", value.(string)) }

func (name) schema(Field) object { return object{"type": "string", "pattern": namePattern} }

// DriverPrefix is the prefix of the name of a variant that a driver, an external program, executes. The program's path or name follows.
const DriverPrefix = "driver:"

// recipePattern matches a name, or a driver with its arguments.
const recipePattern = `^([A-Za-z0-9][A-Za-z0-9._+-]{0,63}|driver:[A-Za-z0-9._/~+-][A-Za-z0-9._/~+:=@ -]{0,199})$`

func (recipe) allowed(f Field) string {
	return name{}.allowed(f) + ", or driver: and a program with its arguments"
}

func (recipe) read(r *reader, f Field, n *yaml.Node) (any, bool) {
	if n.Kind == yaml.ScalarNode && regexp.MustCompile(recipePattern).MatchString(n.Value) {
		return n.Value, true
	}
	return name{}.read(r, f, n)
}

func (recipe) write(value any) *yaml.Node { return scalar("!!str", value.(string)) }

func (recipe) schema(Field) object { return object{"type": "string", "pattern": recipePattern} }

func (enum) allowed(f Field) string {
	if len(f.Words) < 3 {
		return strings.Join(f.Words, " or ")
	}
	return "one of " + strings.Join(f.Words, ", ")
}

func (k enum) read(r *reader, f Field, n *yaml.Node) (any, bool) {
	for _, word := range f.Words {
		if n.Kind == yaml.ScalarNode && n.Value == word {
			return word, true
		}
	}
	if near := Nearest(n.Value, f.Words); near != "" {
		return nil, r.wrong(f, n, "unknown value "+shown(n)+", did you mean "+near+"?")
	}
	return nil, r.wrong(f, n, "unknown value "+shown(n))
}

func (enum) write(value any) *yaml.Node { return scalar("!!str", value.(string)) }

func (enum) schema(f Field) object { return object{"enum": f.Words} }

func (truth) allowed(Field) string { return "true or false" }

func (k truth) read(r *reader, f Field, n *yaml.Node) (any, bool) {
	if n.Kind != yaml.ScalarNode || quoted(n) || n.Value != "true" && n.Value != "false" {
		return nil, r.wrong(f, n, shown(n)+" is not a boolean")
	}
	return n.Value == "true", true
}

func (truth) write(value any) *yaml.Node { return scalar("!!bool", fmt.Sprint(value)) }

func (truth) schema(Field) object { return object{"type": "boolean"} }

// Given is the ensemble of a profile for servers that zkbench does not start: --servers names them.
const Given = "given"

// drivers are the ways to start an ensemble, and the sizes that each supports.
var drivers = []struct {
	name  string
	sizes []string // 3+1 is three voters and an observer
}{{"local", []string{"1", "3", "5", "7"}}, {"compose", []string{"1", "3", "3+1", "5"}}}

func (ensemble) allowed(Field) string {
	return "local:N, or N alone, with N of 1, 3, 5 or 7 servers, compose:N with 1, 3, 5, or 3+1 for an observer, or " + Given
}

func (k ensemble) read(r *reader, f Field, n *yaml.Node) (any, bool) {
	if n.Kind == yaml.ScalarNode && n.Value == Given {
		return Given, true
	}
	driver, servers, counted := strings.Cut(n.Value, ":")
	if _, err := strconv.Atoi(driver); err == nil && !counted {
		driver, servers = drivers[0].name, driver
	}
	for _, d := range drivers {
		switch {
		case n.Kind != yaml.ScalarNode || driver != d.name:
		case !slices.Contains(d.sizes, servers):
			return nil, r.wrong(f, n, fmt.Sprintf("%q is not a number of servers%s", servers, evenHint(servers)))
		default:
			return driver + ":" + servers, true
		}
	}
	return nil, r.wrong(f, n, shown(n)+" is not an ensemble that zkbench can start")
}

// evenHint says why ensembles of an even size are not supported.
func evenHint(servers string) string {
	if n, err := strconv.Atoi(servers); err != nil || n < 2 || n%2 != 0 {
		return ""
	}
	return ": an even number survives no more failures than one server less"
}

func (ensemble) write(value any) *yaml.Node { return scalar("!!str", value.(string)) }

func (ensemble) schema(Field) object {
	all := []string{Given}
	for _, d := range drivers {
		all = append(all, d.name+":("+strings.ReplaceAll(strings.Join(d.sizes, "|"), "+", `\+`)+")")
	}
	var sizes []int
	for _, size := range drivers[0].sizes {
		n, _ := strconv.Atoi(size) // a constant
		sizes = append(sizes, n)
	}
	return object{"anyOf": []any{object{"type": "string", "pattern": "^(" + strings.Join(all, "|") + ")$"}, object{"enum": sizes}}}
}

// serverPattern matches a version of three numbers, or a path: it has a slash, or ends in .jar.
const serverPattern = `^([0-9]+\.[0-9]+\.[0-9]+(-[A-Za-z0-9]+)?|[^\n]*/[^\n]*|[^\n]+\.jar)$`

func (server) allowed(Field) string {
	return "a version such as 3.9.3, or the path of a directory or jar, such as ./zookeeper"
}

func (k server) read(r *reader, f Field, n *yaml.Node) (any, bool) {
	if n.Kind != yaml.ScalarNode || !regexp.MustCompile(serverPattern).MatchString(n.Value) {
		return nil, r.wrong(f, n, shown(n)+" is not a ZooKeeper")
	}
	return n.Value, true
}

func (server) write(value any) *yaml.Node { return scalar("!!str", value.(string)) }

func (server) schema(Field) object { return object{"type": "string", "pattern": serverPattern} }

func (file) allowed(Field) string { return "the path of a file" }

func (k file) read(r *reader, f Field, n *yaml.Node) (any, bool) {
	if !printable(n) {
		return nil, r.wrong(f, n, shown(n)+" is not a path")
	}
	return n.Value, true
}

func (file) write(value any) *yaml.Node { return scalar("!!str", value.(string)) }

func (file) schema(Field) object { return object{"type": "string", "maxLength": 1000} }

func (prose) allowed(Field) string { return "printable text of at most 1,000 characters" }

func (k prose) read(r *reader, f Field, n *yaml.Node) (any, bool) {
	text := strings.Join(strings.Fields(n.Value), " ")
	unprintable := strings.ContainsFunc(text, func(c rune) bool { return c == unicode.ReplacementChar || !unicode.IsPrint(c) })
	if n.Kind != yaml.ScalarNode || unprintable || len(text) > 1000 {
		return nil, r.fault(n, f.Key+": must be "+prose{}.allowed(f))
	}
	return text, true
}

func (prose) write(value any) *yaml.Node { return scalar("!!str", value.(string)) }

func (prose) schema(Field) object { return object{"type": "string", "maxLength": 1000} }

// scalar returns a node for the encoder, which quotes strings that would otherwise be read as something else.
func scalar(tag, value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
}

func quoted(n *yaml.Node) bool { return n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 }

// shown returns a value for a message, cut to 40 characters.
func shown(n *yaml.Node) string {
	switch n.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "a map"
	}
	if n.Tag == "!!null" {
		return "nothing"
	}
	text := []rune(n.Value)
	if len(text) > 40 {
		text = append(text[:37], []rune("...")...)
	}
	if quoted(n) || n.Tag == "!!str" {
		return strconv.Quote(string(text))
	}
	return string(text)
}
