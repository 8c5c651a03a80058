// Package report renders documents: text, Markdown, JSON.
//
// It reads only the document, so every report can be generated again from the file. It measures nothing: with too few samples it prints '-', and
// if two variants cannot be distinguished it says so.
package report
