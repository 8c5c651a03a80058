// Package profiles describes one run: the parser, the validation, and the built-in YAML files (embedded).
//
// Every key of a profile is a Field: the common ones are in fields.go, and each workload adds its own. The parser, --set, the JSON Schema, the reference and
// Marshal are all derived from the fields, so they cannot disagree.
//
// A profile is data. This package does not know which workloads, recipes and engines exist: the package that runs a profile resolves its names, and reports
// an unknown one with the place where it was written (Profile.At).
package profiles
