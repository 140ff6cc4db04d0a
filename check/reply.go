package check

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// readReply reads a judge's reply as YES or NO; ok is false if it is neither or both. Only markup,
// quotes and a label such as "The answer is" may come before the verdict. A reason may follow it,
// unless it takes the verdict back.
func readReply(reply string) (yes, ok bool) {
	yes, rest, ok := leadingVerdict(afterThinking(reply))
	if !ok || retracted(yes, rest) || takenBack(yes, rest) {
		return false, false
	}
	return yes, true
}

// takenBack reports whether the text after a verdict states the opposite: as a clause of its own
// ("YES. Hmm, no."), as the last word, or after an announcement ("so the answer is no"). A doubtful
// reply counts as taken back, since another request costs little and a wrong verdict much.
func takenBack(yes bool, rest string) bool {
	opposite := "no"
	if !yes {
		opposite = "yes"
	}
	const most = 10     // of the words before
	var clause []string // the last words of the clause so far
	gap := 0            // where the text before the next word begins
	for {
		n := strings.IndexFunc(rest[gap:], isWord)
		if n < 0 {
			return false
		}
		between, word := rest[gap:gap+n], firstWord(rest[gap+n:])
		gap += n + len(word)
		if strings.ContainsAny(between, ",.;!?\r\n") {
			clause = nil
		}
		if strings.EqualFold(word, opposite) && states(yes, clause, between, word, rest[gap:]) {
			return true
		}
		if clause = append(clause, strings.ToLower(word)); len(clause) > most {
			clause = clause[1:]
		}
	}
}

// states reports whether word, the opposite of a verdict in the text after it, is a verdict too.
// clause has the words before it in its clause, and between is the text between them and word.
func states(yes bool, clause []string, between, word, after string) bool {
	tail := after[:len(after)-len(strings.TrimLeftFunc(after, notWord))]
	next := nextWord(after[len(tail):])
	joined := next != "" && strings.Trim(tail, " \t*_`\"'") == ""
	switch {
	case between != "" && strings.ContainsRune("\"'`“‘«", lastRune(between)) && !announced(clause, between):
		return false // a quotation
	case yes && joined && !startsReason(next): // an article: no errors
		return false
	case slices.ContainsFunc(clause, func(w string) bool { // a negation
		return slices.Contains([]string{"not", "t", "never", "cannot", "nothing", "nowhere", "neither", "without"}, w)
	}):
		return false
	}
	capitals := word == strings.ToUpper(word) // as the prompt asks for
	return next == "" || capitals || announced(clause, between) || strings.ContainsAny(between, ",;.:!?<>–—\r\n")
}

// announced reports whether the last word before a verdict announces it.
func announced(clause []string, between string) bool {
	return len(clause) > 0 && strings.Trim(between, " \t*_`\"':{}[]()<>/-–—") == "" &&
		slices.Contains(strings.Fields(`answer verdict result judgment judgement decision conclusion is be to so
			thus hence therefore wait actually correction rather thought reflection hmm sorry final still`), clause[len(clause)-1])
}

func lastRune(s string) rune {
	r, _ := utf8.DecodeLastRuneInString(s)
	return r
}

// afterThinking removes the reasoning that some local servers leave in the text.
func afterThinking(s string) string {
	s = strip(s)
	if rest, ok := strings.CutPrefix(s, "<think>"); ok {
		if _, after, ok := strings.Cut(rest, "</think>"); ok {
			return after
		}
	}
	return s
}

// leadingVerdict reads the first word of s that is not part of a label. rest is the text after it.
func leadingVerdict(s string) (yes bool, rest string, ok bool) {
	const mostLabels = 6
	for range mostLabels {
		start := strings.IndexFunc(s, isWord)
		if start < 0 {
			return false, "", false
		}
		word := firstWord(s[start:])
		s = s[start+len(word):]
		switch strings.ToLower(word) {
		case "yes":
			return true, s, true
		case "no":
			return false, s, true
		case "the", "my", "final", "overall", "short", "answer", "verdict", "result", "judgment", "judgement",
			"decision", "conclusion", "assessment", "evaluation", "response", "reply", "is", "boxed", "text",
			"so", "thus", "hence", "therefore", "wait", "actually", "correction":
		default:
			return false, "", false
		}
	}
	return false, "", false
}

// retracted reports whether the text directly after a word takes it back, as in "yes and no" or
// "YES/NO", or shows that it is not a verdict, as in "no idea".
func retracted(yes bool, rest string) bool {
	gap := rest[:len(rest)-len(strings.TrimLeftFunc(rest, notWord))]
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
		if gap2 := strings.TrimLeftFunc(rest[len(word):], notWord); gap2 != "" {
			rest, word = gap2, nextWord(gap2)
		}
	}
	if !yes {
		return word == "yes"
	}
	if word != "no" {
		return false
	}
	// "Yes, no errors" and "Yes\nNo errors" go on; "Yes, no." and "Yes/No" do not, nor does "Yes
	// and no errors".
	after := rest[len(word):]
	separated := strings.ContainsAny(gap, ",;.:!-\u2013\u2014\r\n")
	goesOn := strings.HasPrefix(after, " ") && nextWord(strings.TrimLeft(after, " ")) != ""
	return !separated || !goesOn
}

// startsReason reports whether a word after "no" begins a reason. Before any other word, "no" is
// not a verdict: no idea, no answer, no one, no errors were found.
func startsReason(word string) bool {
	return slices.Contains(strings.Fields(`and or yes because since as it its the this that these those there they
		he she i we you for but due given while although though only not in on at based according a an both neither nothing
		is does did was sorry`), word)
}

func nextWord(s string) string { return strings.ToLower(firstWord(s)) }

func notWord(r rune) bool { return !isWord(r) }

// firstWord returns the word that s begins with, or "".
func firstWord(s string) string {
	if end := strings.IndexFunc(s, notWord); end >= 0 {
		return s[:end]
	}
	return s
}

// isWord reports whether r is part of a word. An apostrophe is not, so that 'YES' in quotes is a
// word. A combining mark is.
func isWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.M, r))
}
