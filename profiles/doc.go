// Package profiles is the description of one run: parser, validation, and the built-in YAML files (embedded).
//
// One table (fields.go) has a row for every key of a profile. The parser, --set, the JSON Schema, the reference and Marshal
// are all read from it, so they cannot disagree.
//
// A profile is data. Which workloads, recipes and engines there are is not known here: the package that runs a profile resolves
// its names, and says where a name that it does not know was written with Profile.At.
package profiles
