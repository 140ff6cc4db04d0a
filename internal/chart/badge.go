package chart

// colors of the badges, dark enough for white words.
func color(class string) safe {
	switch class {
	case "pass":
		return "#14713a"
	case "fail":
		return "#b3231c"
	case "error":
		return "#8a5300"
	default:
		return "#5b6472"
	}
}

// Badge draws a name and what is to be said of it as an image of its own, which needs no style sheet.
func Badge(name, words, class string) Picture {
	const letter, pad, high = 6.6, 8, 20
	name, words = short(name, 40), short(words, 60)
	left, right := px(float64(len([]rune(name)))*letter+2*pad), px(float64(len([]rune(words)))*letter+2*pad)
	var d drawing
	d.add(`<svg xmlns="http://www.w3.org/2000/svg" width="%v" height="%v" role="img" aria-label="%s">`, left+right, px(high),
		clean(name+": "+words))
	d.add(`<rect width="%v" height="%v" rx="3" fill="#343c48"/>`, left+right, px(high))
	d.add(`<rect x="%v" width="%v" height="%v" rx="3" fill="%s"/>`, left, right, px(high), color(class))
	d.add(`<rect x="%v" width="3" height="%v" fill="%s"/>`, left, px(high), color(class))
	d.add(`<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">`)
	for _, t := range []struct {
		at, wide px
		s        string
	}{{left / 2, left, name}, {left + right/2, right, words}} {
		d.add(`<text x="%v" y="14" textLength="%v" lengthAdjust="spacingAndGlyphs">%s</text>`, t.at, max(1, t.wide-2*pad), clean(t.s))
	}
	d.add(`</g>`)
	return d.end([]string{"", ""}, [][]string{{name, words}})
}
