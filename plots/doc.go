// Package plots draws finished numbers: one function a figure kind takes a
// struct of points with intervals and returns a Figure, which Render turns into
// PDF, SVG, PNG and TeX in the style of a paper or a talk. It refuses computing
// and files, and imports no package of this module.
package plots
