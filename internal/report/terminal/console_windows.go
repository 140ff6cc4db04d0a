package terminal

import (
	"os"

	"golang.org/x/sys/windows"
)

// enableSequences makes a console of Windows interpret escape sequences. Windows Terminal always
// does; the older console has to be asked.
func enableSequences(f *os.File) {
	var mode uint32
	if console := windows.Handle(f.Fd()); windows.GetConsoleMode(console, &mode) == nil {
		_ = windows.SetConsoleMode(console, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) // needs Windows 10
	}
}
