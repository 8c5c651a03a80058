// Package page draws the report of a run, a comparison or a trend as one HTML page with a style sheet beside it. It is readable without
// JavaScript, without a network and under a Content-Security-Policy that forbids scripts, <style> and style= attributes, as Jenkins and other
// servers of build results set it. The SVG writer is its own because of that: gonum/plot and go-analyze/charts write style= attributes, and
// go-echarts needs scripts. Marks have presentation attributes, so a plot that is cut out of the page keeps its colours; the classes beside
// them are for the style sheet, which knows light, dark and paper. What a plot shows comes from the document and the files beside it alone.
package page
