// Package report renders documents: text, Markdown, JSON.
//
// It reads results.Run alone, so that every report can be made again from the file, and it measures nothing: where there are
// too few samples it prints '-', and where two variants cannot be told apart it says so.
package report
