package plotting

import "image/color"

// colours returns the palette of Okabe and Ito (2008), which people with any
// kind of colour vision can tell apart, the pale ones last.
func colours() []color.Color {
	return []color.Color{
		color.RGBA{0x00, 0x72, 0xb2, 0xff}, // blue
		color.RGBA{0xd5, 0x5e, 0x00, 0xff}, // vermilion
		color.RGBA{0x00, 0x9e, 0x73, 0xff}, // bluish green
		color.RGBA{0xcc, 0x79, 0xa7, 0xff}, // reddish purple
		color.RGBA{0xe6, 0x9f, 0x00, 0xff}, // orange
		color.RGBA{0x56, 0xb4, 0xe9, 0xff}, // sky blue
		color.RGBA{0x00, 0x00, 0x00, 0xff}, // black
	}
}

// colour returns the colour of a series. Negative numbers give grey.
func colour(series int) color.Color {
	if series < 0 {
		return color.Gray{0x40}
	}
	return colours()[series%len(colours())]
}
