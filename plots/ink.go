package plots

import "image/color"

var (
	black = rgb(0x000000)
	white = rgb(0xffffff)
)

// tint mixes c with white: share is that of c.
func tint(c color.RGBA, share float64) color.RGBA {
	mix := func(v uint8) uint8 { return uint8(255 - share*(255-float64(v)) + 0.5) }
	return color.RGBA{mix(c.R), mix(c.G), mix(c.B), 255}
}

// veil is a see-through c for areas that may lie over each other.
func veil(c color.RGBA) color.NRGBA { return color.NRGBA{c.R, c.G, c.B, 51} } // a fifth

func rgb(v uint32) color.RGBA {
	return color.RGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255}
}
