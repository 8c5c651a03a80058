// Package page draws the report of a run, a comparison, a trend, a search or the traffic in a server's files as one HTML page with a separate style sheet. The page is readable without
// JavaScript, without a network and under a Content-Security-Policy that forbids scripts, <style> and style= attributes, which Jenkins and other
// servers of build results set. That is why the package has its own SVG writer: gonum/plot and go-analyze/charts write style= attributes, and
// go-echarts needs scripts. Marks have presentation attributes, so a plot that is cut out of the page keeps its colours; their classes
// are for the style sheet, which supports light, dark and paper. A plot shows only data from the document and the files next to it.
package page
