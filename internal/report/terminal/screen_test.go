package terminal

import (
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// screen is a small terminal emulator: what a person sees after all that was written, with what
// scrolled off the top. It knows the sequences that the live view uses and remembers those that it
// does not know.
type screen struct {
	mu            sync.Mutex
	width, height int
	rows          [][]string // cells; a wide character is followed by an empty cell
	scrolled      []string
	x, y          int
	pending       []byte
	hidden        bool
	unknown       []string
	writes        int
	modes         map[string]bool
}

func newScreen(width, height int) *screen {
	s := &screen{width: width, height: height, modes: map[string]bool{}}
	for range height {
		s.rows = append(s.rows, nil)
	}
	return s
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	s.pending = append(s.pending, p...)
	for len(s.pending) > 0 {
		n := s.step(string(s.pending))
		if n == 0 {
			break
		}
		s.pending = s.pending[n:]
	}
	return len(p), nil
}

// size returns the size of the window, in cells.
func (s *screen) size() (width, height int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.width, s.height
}

// resize changes the size as a terminal does that does not break lines anew.
func (s *screen) resize(width, height int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.rows) > height {
		if s.y < len(s.rows)-1 {
			s.rows = s.rows[:len(s.rows)-1]
			continue
		}
		s.scrolled = append(s.scrolled, screenText(s.rows[0]))
		s.rows = s.rows[1:]
		s.y--
	}
	for len(s.rows) < height {
		s.rows = append(s.rows, nil)
	}
	s.width, s.height, s.x = width, height, min(s.x, width-1)
}

func (s *screen) step(in string) int {
	switch in[0] {
	case '\n': // the line discipline of a terminal that is not raw adds the carriage return
		s.x = 0
		s.down()
		return 1
	case '\r':
		s.x = 0
		return 1
	case '\b':
		s.x = max(0, s.x-1)
		return 1
	case '\t':
		s.x = min(s.width-1, (s.x/8+1)*8)
		return 1
	case 0x1b:
		return s.escape(in)
	}
	if !utf8.FullRuneInString(in) {
		return 0
	}
	end := len(in)
	if i := strings.IndexAny(in, "\x1b\n\r\b\t"); i >= 0 {
		end = i
	}
	cluster, width, n, _ := ansi.DecodeSequence(in[:end], 0, nil)
	if s.x+width > s.width {
		s.x = 0
		s.down()
	}
	for len(s.rows[s.y]) < s.x+width {
		s.rows[s.y] = append(s.rows[s.y], " ")
	}
	s.rows[s.y][s.x] = cluster
	for i := 1; i < width; i++ {
		s.rows[s.y][s.x+i] = ""
	}
	s.x += width
	return n
}

func (s *screen) down() {
	if s.y < s.height-1 {
		s.y++
		return
	}
	s.scrolled = append(s.scrolled, screenText(s.rows[0]))
	s.rows = append(s.rows[1:], nil)
}

func (s *screen) escape(in string) int {
	if len(in) < 2 {
		return 0
	}
	if in[1] != '[' {
		s.unknown = append(s.unknown, in[:2])
		return 2
	}
	end := 2
	for end < len(in) && (in[end] < 0x40 || in[end] > 0x7e) {
		end++
	}
	if end == len(in) {
		return 0
	}
	parameters := in[2:end]
	n := func() int {
		v, err := strconv.Atoi(parameters)
		if err != nil || v < 1 {
			return 1
		}
		return v
	}
	switch in[end] {
	case 'A':
		s.y = max(0, s.y-n())
	case 'B':
		s.y = min(s.height-1, s.y+n())
	case 'C':
		s.x = min(s.width-1, s.x+n())
	case 'D':
		s.x = max(0, s.x-n())
	case 'G':
		s.x = min(s.width, n()) - 1
	case 'J':
		if parameters != "" && parameters != "0" {
			s.unknown = append(s.unknown, in[:end+1])
			break
		}
		s.erase(s.y)
		for y := s.y + 1; y < s.height; y++ {
			s.rows[y] = nil
		}
	case 'K':
		if parameters != "" && parameters != "0" {
			s.unknown = append(s.unknown, in[:end+1])
			break
		}
		s.erase(s.y)
	case 'L':
		for range min(n(), s.height-s.y) {
			copy(s.rows[s.y+1:], s.rows[s.y:s.height-1])
			s.rows[s.y] = nil
		}
		s.x = 0
	case 'M':
		for range min(n(), s.height-s.y) {
			copy(s.rows[s.y:], s.rows[s.y+1:])
			s.rows[s.height-1] = nil
		}
		s.x = 0
	case 'P':
		if row := s.rows[s.y]; s.x < len(row) {
			s.rows[s.y] = append(row[:s.x:s.x], row[min(len(row), s.x+n()):]...)
		}
	case 'X':
		for i := s.x; i < min(len(s.rows[s.y]), s.x+n()); i++ {
			s.rows[s.y][i] = " "
		}
	case 'm':
	case 'h', 'l':
		s.modes[parameters] = in[end] == 'h'
		if parameters == "?25" {
			s.hidden = in[end] == 'l'
		}
	default:
		s.unknown = append(s.unknown, in[:end+1])
	}
	return end + 1
}

func (s *screen) erase(y int) {
	if len(s.rows[y]) > s.x {
		s.rows[y] = s.rows[y][:s.x]
	}
}

func screenText(row []string) string { return strings.TrimRight(strings.Join(row, ""), " ") }

// String returns all lines, scrolled and visible, without the empty ones at the end.
func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := append([]string{}, s.scrolled...)
	for _, row := range s.rows {
		lines = append(lines, screenText(row))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}
