package check

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// readReply reads a judge's reply as YES or NO; ok is false where it is neither, or both. The verdict comes first, after
// markup, quotes and a label such as "The answer is" at most; a reason may follow.
func readReply(reply string) (yes, ok bool) {
	s := afterThinking(reply)
	yes, rest, ok := leadingVerdict(s)
	if !ok || retracted(yes, rest) {
		return false, false
	}
	// A last line that is a verdict of its own, and the opposite one, takes the first word back.
	rest = strings.TrimRightFunc(rest, isSpace)
	if line := strings.LastIndexAny(rest, "\r\n"); line >= 0 {
		last, tail, ok := leadingVerdict(rest[line:])
		if ok && last != yes && strings.IndexFunc(tail, isWord) < 0 {
			return false, false
		}
	}
	return yes, true
}

// afterThinking cuts the reasoning that some local servers leave in the text.
func afterThinking(s string) string {
	s = strip(s)
	if rest, ok := strings.CutPrefix(s, "<think>"); ok {
		if _, after, ok := strings.Cut(rest, "</think>"); ok {
			return after
		}
	}
	return s
}

// leadingVerdict reads the first word of s that is no label. rest is what follows it.
func leadingVerdict(s string) (yes bool, rest string, ok bool) {
	const mostLabels = 6
	for range mostLabels {
		start := strings.IndexFunc(s, isWord)
		if start < 0 {
			return false, "", false
		}
		s = s[start:]
		end := strings.IndexFunc(s, func(r rune) bool { return !isWord(r) })
		if end < 0 {
			end = len(s)
		}
		word := strings.ToLower(s[:end])
		s = s[end:]
		switch word {
		case "yes":
			return true, s, true
		case "no":
			return false, s, true
		case "the", "my", "final", "overall", "short", "answer", "verdict", "result", "judgment", "judgement", "decision",
			"conclusion", "assessment", "evaluation", "response", "reply", "is", "boxed", "text",
			"so", "thus", "hence", "therefore", "wait", "actually", "correction":
		default:
			return false, "", false
		}
	}
	return false, "", false
}

// retracted reports whether what follows a verdict takes it back, as in "yes and no" or "YES/NO", or shows that it was
// none, as in "no idea".
func retracted(yes bool, rest string) bool {
	gap := rest[:len(rest)-len(strings.TrimLeftFunc(rest, func(r rune) bool { return !isWord(r) }))]
	if gap == "" && rest != "" {
		return true
	}
	rest = rest[len(gap):]
	word := nextWord(rest)
	joined := strings.Trim(gap, " \t*_`\"'") == "" // nothing but space and markup: one phrase
	if joined && !yes && word != "" && !startsReason(word) {
		return true
	}
	if !yes && gap == "-" && word != "" { // no-one, no-brainer
		return true
	}
	if word == "and" || word == "or" {
		if gap2 := strings.TrimLeftFunc(rest[len(word):], func(r rune) bool { return !isWord(r) }); gap2 != "" {
			rest, word = gap2, nextWord(gap2)
		}
	}
	if !yes {
		return word == "yes"
	}
	if word != "no" {
		return false
	}
	// "Yes, no errors" and "Yes\nNo errors" go on; "Yes, no." and "Yes/No" do not, nor does "Yes and no errors".
	after := rest[len(word):]
	separated := strings.ContainsAny(gap, ",;.:!-\u2013\u2014\r\n")
	goesOn := strings.HasPrefix(after, " ") && nextWord(strings.TrimLeft(after, " ")) != ""
	return !separated || !goesOn
}

// startsReason reports whether a word after a bare "no" begins a sentence of its own. After another word "no" is no
// verdict but an article: no idea, no answer, no one, no errors were found.
func startsReason(word string) bool {
	return slices.Contains(strings.Fields(`and or yes because since as it its the this that these those there they he she
		i we you for but due given while although though only not in on at based according a an both neither nothing
		is does did was sorry`), word)
}

func nextWord(s string) string {
	end := strings.IndexFunc(s, func(r rune) bool { return !isWord(r) })
	if end < 0 {
		end = len(s)
	}
	return strings.ToLower(s[:end])
}

// isWord reports whether r is part of a word. An apostrophe is not, so that 'YES' in quotes is one; a mark that changes
// a letter is.
func isWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.M, r))
}
