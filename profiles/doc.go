// Package profiles is the description of one run: parser, validation, and the built-in YAML files (embedded).
//
// Every key of a profile is a Field: those of all workloads are in fields.go, and each workload hands in its own. The parser, --set, the JSON Schema,
// the reference and Marshal are all made from the fields, so they cannot disagree.
//
// A profile is data. Which workloads, recipes and engines exist is not known here: the package that runs a profile resolves its names, and reports an
// unknown one with the place where it was written (Profile.At).
package profiles
